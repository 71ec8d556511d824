package docker

import (
	"fmt"
	"path/filepath"

	"github.com/moby/moby/api/types/mount"
)

// mounts are those asked for, with sources that the host knows.
func (d *Driver) mounts(me *self) ([]mount.Mount, error) {
	var mounts []mount.Mount
	for _, text := range d.config.Mounts {
		spec, err := parseMount(text)
		if err != nil {
			return nil, err
		}
		m := mount.Mount{Type: mount.TypeVolume, Source: spec.source, Target: spec.target, ReadOnly: spec.readOnly}
		if spec.path {
			m.Type = mount.TypeBind
			if m.Source, err = filepath.Abs(spec.source); err != nil {
				return nil, fmt.Errorf("mount %q: %w", text, err)
			}
			if me != nil {
				if m.Source, err = me.hostPath(m.Source); err != nil {
					return nil, fmt.Errorf("mount %q: %w", text, err)
				}
			}
		}
		mounts = append(mounts, m)
	}
	return mounts, nil
}

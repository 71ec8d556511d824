package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// label marks images of tests; deploy.OwnerLabel says whose they are.
const label = "org.agentx.test"

// Build builds main packages of this module into static binaries and puts them, with
// an empty /tmp, into an image under a tag that nobody else has: the first as its
// entry point, all in its PATH. The same packages are built once a process.
func (d Docker) Build(tb testing.TB, pkgs ...string) (tag string) {
	tb.Helper()
	one.mu.Lock()
	defer one.mu.Unlock()
	key := strings.Join(pkgs, " ")
	if tag := one.built[key]; tag != "" {
		return tag
	}
	var binaries []string
	for _, pkg := range pkgs {
		binary := filepath.Join(tb.TempDir(), path.Base(pkg))
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOFLAGS=")
		if out, err := build.CombinedOutput(); err != nil {
			tb.Fatalf("go build %s: %v\n%s", pkg, err, out)
		}
		binaries = append(binaries, binary)
	}
	tag = "agentx-test:" + strings.ToLower(rand.Text()[:12])
	if err := importImage(d.Client, tag, binaries); err != nil {
		tb.Fatalf("image of %s: %v", key, err)
	}
	if one.built == nil {
		one.built = map[string]string{}
	}
	one.built[key] = tag
	one.undo = append(one.undo, func() error { return removeImage(d.Client, tag) })
	return tag
}

// importImage makes an image of binaries. An import is what a build FROM scratch
// comes to, and every daemon has it, whichever builder it has.
func importImage(c *client.Client, tag string, binaries []string) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(writeRoot(w, binaries)) }()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	res, err := c.ImageImport(ctx, client.ImageImportSource{Source: r, SourceName: "-"}, tag, client.ImageImportOptions{
		Changes: []string{
			fmt.Sprintf("ENTRYPOINT [%q]", "/"+filepath.Base(binaries[0])),
			"ENV PATH=/",
			"LABEL " + label + "=1",
			fmt.Sprintf("LABEL %s=%q", deploy.OwnerLabel, deploy.Self()),
		},
	})
	if err != nil {
		_ = r.CloseWithError(err)
		return err
	}
	defer res.Close()
	answer, err := io.ReadAll(io.LimitReader(res, 1<<20))
	if err == nil && bytes.Contains(answer, []byte(`"error"`)) {
		err = errors.New(strings.TrimSpace(string(answer)))
	}
	return err
}

// writeRoot writes the root folder of the image as a tar.
func writeRoot(w io.Writer, binaries []string) error {
	t := tar.NewWriter(w)
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}); err != nil {
		return err
	}
	for _, name := range binaries {
		if err := writeBinary(t, name); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeBinary(t *tar.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: filepath.Base(name), Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}

func removeImage(c *client.Client, id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := c.ImageRemove(ctx, id, client.ImageRemoveOptions{Force: true, PruneChildren: true})
	return err
}

// removeLeftImages takes away the images of tests that were killed.
func removeLeftImages(c *client.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	images, err := c.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", label)})
	if err != nil {
		return err
	}
	for _, image := range images.Items {
		owner, err := deploy.ParseOwner(image.Labels[deploy.OwnerLabel])
		if err != nil {
			continue
		}
		if alive, known := owner.Alive(); known && !alive {
			_ = removeImage(c, image.ID) // another package may be doing the same
		}
	}
	return nil
}

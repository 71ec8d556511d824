package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

// An engine has a temporary folder of its own: vLLM leaves sockets and files there,
// however it ends.
const tmpPrefix = "agentx-tmp-"

// longestTmp is how long its path may be, in bytes: engines put sockets there,
// named by a UUID and more, whose paths end at 107 bytes (unix(7)).
const longestTmp = 60

// elsewhere are commands that start the engine on another machine, where a folder
// of ours is not.
var elsewhere = []string{"srun", "ssh"}

// makeTmp makes the folder; "" where the engine gets none, because it is elsewhere
// or has one declared.
func (d *Driver) makeTmp() (string, error) {
	declared := slices.ContainsFunc(d.Env, func(v deploy.Var) bool { return v.Name == "TMPDIR" })
	if declared || slices.Contains(elsewhere, filepath.Base(d.Command[0])) {
		return "", nil
	}
	base := os.TempDir()
	if !filepath.IsAbs(base) || len(base)+len("/"+tmpPrefix)+10 >= longestTmp { // ten digits at most follow
		base = "/tmp"
	}
	dir, err := os.MkdirTemp(base, tmpPrefix) // 0700
	if err != nil {
		return "", fmt.Errorf("no temporary folder for the engine: %w; set TMPDIR to a folder that can be written", err)
	}
	return dir, nil
}

// tmpEnv declares the folder. What torch compiles for later starts stays where it
// was without it.
func tmpEnv(env []deploy.Var, dir string) []deploy.Var {
	if dir == "" {
		return env
	}
	env = append(slices.Clone(env), deploy.Var{Name: "TMPDIR", Value: dir})
	const compiled = "TORCHINDUCTOR_CACHE_DIR"
	if who, err := user.Current(); err == nil && !slices.ContainsFunc(env, func(v deploy.Var) bool { return v.Name == compiled }) {
		env = append(env, deploy.Var{Name: compiled, Value: filepath.Join(os.TempDir(), "torchinductor_"+who.Username)})
	}
	return env
}

// removeTmp takes the folder away with all in it, links as links. A path that
// can't be one of ours, in a state file that somebody wrote, is left alone.
func removeTmp(dir string) error {
	if dir == "" || !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || !strings.HasPrefix(filepath.Base(dir), tmpPrefix) {
		return nil
	}
	info, err := os.Lstat(dir)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// ownTmp is a folder that a marked process names, if it can be one that this user
// made; "" otherwise.
func ownTmp(dir string) string {
	info, err := os.Lstat(dir)
	if err != nil || filepath.Dir(dir) != "/tmp" && filepath.Dir(dir) != filepath.Clean(os.TempDir()) || info.Mode() != os.ModeDir|0o700 {
		return ""
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return ""
	}
	return dir
}

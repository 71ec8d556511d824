package process

import (
	"slices"
	"testing"

	"github.com/org/agentx-action/pkg/engine/deploy"
)

func TestEnvironment(t *testing.T) {
	ours := []string{
		"PATH=/bin", "HOME=/root", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0", "SLURM_JOB_ID=7", "VIRTUAL_ENV=/venv", "HF_HOME=/hf",
		"GITHUB_TOKEN=x", "ACTIONS_RUNTIME_TOKEN=x", "ACTIONS_CACHE_URL=x", "AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x",
		"AWS_SESSION_TOKEN=x", "HF_TOKEN=x", "NVIDIA_API_KEY=x", "SLURM_JWT=x", "AGENTX_ENGINE=outer", "AGENTX_OWNER=outer",
		"GITHUB_OUTPUT=x", "OMP_NUM_THREADS=1", "EDITOR=vi",
	}
	declared := []deploy.Var{{Name: "HOME", Value: "/home/engine"}, {Name: "HF_TOKEN", Value: "hf", Secret: true}, {Name: markEngine, Value: "other"}}
	got := environment(ours, declared, "agentx-1", "a/b/1/2")
	want := []string{
		markEngine + "=agentx-1", markOwner + "=a/b/1/2", "SPT_NOENV=1",
		"PATH=/bin", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0", "SLURM_JOB_ID=7", "VIRTUAL_ENV=/venv", "HF_HOME=/hf",
		"HOME=/home/engine", "HF_TOKEN=hf",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

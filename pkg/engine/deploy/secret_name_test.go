package deploy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSecretName(t *testing.T) {
	for name, want := range map[string]bool{
		"HF_TOKEN": true, "VLLM_API_KEY": true, "aws_secret_access_key": true, "AWS_ACCESS_KEY_ID": true, "api_key": true, "GITHUB_TOKEN_2": true,
		"HFTOKEN": true, "dbPassword": true, "SLURM_JWT": true, "REGISTRY_CREDENTIALS": true, "KEY": true, "--api-key": true, "--hf_token": true, "WANDB.PASS": true,
		"TOKENIZERS_PARALLELISM": false, "SGLANG_SIMULATE_ACC_TOKEN_MODE": false, "PYTHONHASHSEED": false, "MAX_TOKENS": false,
		"--max-num-batched-tokens": false, "--speculative-token-map": false, "MONKEY": false, "KEY_COUNT": false, "": false, "--": false, "7": false,
	} {
		if SecretName(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestMaskFlags(t *testing.T) {
	args := []string{"m", "--api-key", "canary", "canary", "--hf_token=c", "--max-num-batched-tokens", "8192", "--speculative-token-map", "file", "--port", "80"}
	want := "m --api-key *** *** --hf_token=*** --max-num-batched-tokens 8192 --speculative-token-map file --port 80"
	if diff := cmp.Diff(want, strings.Join(MaskFlags(args), " ")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, strings.Join(SecretsOf(args, nil).MaskAll(args), " ")); diff != "" {
		t.Error(diff)
	}
}

// TestShortSecrets: a value that would be found in everything is masked only where
// it stands by its name.
func TestShortSecrets(t *testing.T) {
	env := []Var{{Name: "PIN", Value: "12", Secret: true}, {Name: "A", Value: "long-secret", Secret: true}, {Name: "B", Value: "long-secret-too", Secret: true}, {Name: "C", Value: "plain"}, {Name: "MY_TOKEN", Value: "by its name"}}
	s := SecretsOf(nil, env)
	if got := s.Mask("a long-secret-too, a long-secret, plain, 12, by its name"); got != "a ***, a ***, plain, 12, ***" {
		t.Error(got)
	}
	if diff := cmp.Diff(map[string]string{"PIN": Masked, "A": Masked, "B": Masked, "C": "plain", "MY_TOKEN": Masked}, s.MaskEnv(env)); diff != "" {
		t.Error(diff)
	}
	if !s.Hides("PIN") || s.Hides("C") || !s.Hides("OTHER_TOKEN") {
		t.Error("by name")
	}
}

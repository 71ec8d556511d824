package store

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for ref, want := range map[string]string{
		"s3://bucket": "", "s3://bucket/a/b/": "", "folder": "", "/a/folder": "",
		"": "has no name", "ftp://x": "ftp:// is not known", "s3://": "no name of a bucket", "s3:///prefix": "no name of a bucket", "s3://b/../c": "no prefix", "s3://id:key@b": "keys don't belong",
		"s3:/nonsense": "give s3://bucket/prefix, with two slashes", "s3:bucket": "with two slashes", "s3:": "with two slashes", "S3:/x": "with two slashes", "./s3:/nonsense": "", "s3": "",
		"a\nb": "control character", "s3://bucket/a\nb": "control character", "folder\x1b[1m": "control character", "a folder": "",
	} {
		err := Check(ref, Options{})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", ref, err, want)
		}
	}
	if err := Check("s3://b", Options{Endpoint: "nowhere"}); err == nil || !strings.Contains(err.Error(), "endpoint") {
		t.Errorf("an endpoint that is none: %v", err)
	}
	if err := Check("folder", Options{Endpoint: "nowhere"}); err != nil {
		t.Errorf("a folder has no endpoint: %v", err)
	}
}

// A folder that nothing can be put into is noticed ahead, and trying leaves nothing.
func TestCheckWritable(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dangling := filepath.Join(dir, "dangling")
	if err := os.Symlink(filepath.Join(dir, "none"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{dangling, file, filepath.Join(file, "in", "it"), "/proc/nope"} {
		if err := CheckWritable(bad); err == nil || !strings.Contains(err.Error(), bad+": nothing can be put there") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, good := range []string{dir, filepath.Join(dir, "a", "b"), "s3://bucket"} {
		if err := CheckWritable(good); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

func TestCheckCredentials(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	for name, value := range map[string]string{"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	err := CheckCredentials(t.Context(), "s3://bucket/p", Options{})
	if err == nil || !strings.Contains(err.Error(), "there are no credentials; set AWS_ACCESS_KEY_ID") {
		t.Errorf("without any: %v", err)
	}
	role := Options{RoleToAssume: "arn:aws:iam::1:role/x"}
	role.Env = func(name string) string { return map[string]string{tokenURL: "https://x", tokenBearer: "canary"}[name] }
	for ref, o := range map[string]Options{"folder": {}, "s3://bucket": role} {
		if err := CheckCredentials(t.Context(), ref, o); err != nil {
			t.Errorf("%s needs none yet: %v", ref, err)
		}
	}
	role.Env = func(string) string { return "" }
	if err := CheckCredentials(t.Context(), "s3://bucket", role); err == nil || !strings.Contains(err.Error(), "id-token: write") {
		t.Errorf("a job that may ask for no token: %v", err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDCANARY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
	if err := CheckCredentials(t.Context(), "s3://bucket/p", Options{}); err != nil {
		t.Errorf("with keys: %v", err)
	}
}

// What an upload would be refused for shows when the store is asked for a listing.
func TestCheckReachable(t *testing.T) {
	g := startGateway(t)
	for ref, want := range map[string]string{"s3://" + testBucket: "", "s3://" + testBucket + "/deep/down": "", "s3://another": "there is no bucket another", t.TempDir(): ""} {
		if err := CheckReachable(t.Context(), ref, Options{Endpoint: g.url}); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
	asUser(t, testKeyID, "canary-wrong", "")
	if err := CheckReachable(t.Context(), "s3://"+testBucket, Options{Endpoint: g.url}); err == nil || !strings.Contains(err.Error(), "the keys are not accepted") {
		t.Errorf("a wrong secret: %v", err)
	}
}

package store

import (
	"os"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	for ref, want := range map[string]string{
		"s3://bucket": "", "s3://bucket/a/b/": "", "folder": "", "/a/folder": "",
		"": "has no name", "ftp://x": "ftp:// is not known", "s3://": "no name of a bucket", "s3:///prefix": "no name of a bucket", "s3://b/../c": "no prefix", "s3://id:key@b": "keys don't belong",
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
	for ref, o := range map[string]Options{"folder": {}, "s3://bucket": {RoleToAssume: "arn:aws:iam::1:role/x"}} {
		if err := CheckCredentials(t.Context(), ref, o); err != nil {
			t.Errorf("%s needs none yet: %v", ref, err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDCANARY")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "canary-secret")
	if err := CheckCredentials(t.Context(), "s3://bucket/p", Options{}); err != nil {
		t.Errorf("with keys: %v", err)
	}
}

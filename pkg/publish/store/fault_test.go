package store

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/agentx-action/pkg/result"
)

// What goes wrong with keys and buckets is said with what to do, and without a key.
func TestWrongKeysAndBuckets(t *testing.T) {
	g := startGateway(t)
	dir := measured{id: "a"}.folder(t)
	for name, c := range map[string]struct {
		id, secret, ref string
		want            []string
	}{
		"wrong secret": {testKeyID, "canary-wrong-secret", "s3://" + testBucket, []string{"SignatureDoesNotMatch", "the keys are not accepted", "AWS_SECRET_ACCESS_KEY"}},
		"wrong key":    {"AKIDCANARYUNKNOWN", testSecret, "s3://" + testBucket, []string{"UserNotFound", "the keys are not accepted"}},
		"wrong bucket": {testKeyID, testSecret, "s3://another", []string{"NoSuchBucket", "there is no bucket another at " + g.url}},
		"no keys":      {"", "", "s3://" + testBucket, []string{"there are no credentials", "AWS_ACCESS_KEY_ID"}},
	} {
		t.Run(name, func(t *testing.T) {
			asUser(t, c.id, c.secret, "")
			s, err := Open(t.Context(), c.ref, Options{Endpoint: g.url, MaxAttempts: 1})
			check(t, err)
			_, err = Upload(t.Context(), s, dir, keyAt(noon, "1"), UploadOptions{})
			says(t, err, c.want...)
			_, err = s.Get(t.Context(), "x")
			if err == nil || errors.Is(err, ErrNotFound) && name != "wrong bucket" {
				t.Errorf("read: %v", err)
			}
		})
	}
}

func says(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q, want %q in it", err, w)
		}
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		noCanary(t, e.Error())
		noCanary(t, fmt.Sprintf("%+v %#v", e, e))
	}
}

// Servers, and proxies before them, repeat what they were sent.
func TestAnswersThatRepeatSecrets(t *testing.T) {
	asUser(t, testKeyID, testSecret, "canarysession/token=")
	answer := func(status int, code, message string) Store {
		return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // so that the answer is read
			w.Header().Set("x-amz-bucket-region", "eu-west-9")
			refuse(w, status, code, message)
		}), Options{MaxAttempts: 1})
	}
	echo := testKeyID + " " + testSecret + " canarysession/token=\n::set-output name=x::y"
	for code, c := range map[string]struct {
		status int
		want   string
	}{
		"ExpiredToken": {400, "credentials have expired: ask for them right before publishing"}, "RequestExpired": {403, "have expired"}, "InvalidToken": {400, "not accepted"},
		"AccessDenied": {403, "they need s3:ListBucket"}, "PermanentRedirect": {301, "another region than us-east-1 (eu-west-9)"}, "RequestTimeTooSkewed": {403, "clock"},
		"KMS.NotFoundException": {400, "KMS key"}, "Canary_" + testSecret: {500, ""},
	} {
		s := answer(c.status, code, echo)
		for _, err := range []error{
			s.Put(t.Context(), "a", sourceOf([]byte("x"))), s.Put(t.Context(), "a", sourceOf(random(testParts))), listError(t, s), tidyError(t, s),
		} {
			if err == nil {
				t.Fatalf("%s: no error", code)
			}
			noCanary(t, strings.ReplaceAll(err.Error(), "Canary_***", ""))
			if strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("%s: %q", code, err)
			}
		}
		if err := listError(t, s); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", code, err, c.want)
		}
	}
}

func listError(t *testing.T, s Store) error {
	for _, err := range s.List(t.Context(), "x", true) {
		return err
	}
	return nil
}

func tidyError(t *testing.T, s Store) error {
	_, err := s.(tidier).tidy(t.Context(), "x")
	return err
}

// A listing that goes round, or lists what nobody asked for, ends and harms nobody.
func TestHostileListing(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	pages := 0
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		pages++
		fmt.Fprint(w, `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>
			<Contents><Key>a/prefix/x/../../etc/passwd</Key><Size>1</Size></Contents><Contents><Key>other/x/y</Key><Size>1</Size></Contents>
			<Contents><Key>a/prefix/x/</Key><Size>0</Size></Contents><Contents><Key>a/prefix/x//y</Key></Contents><Contents><Key>a/prefix/x/good</Key><Size>3</Size></Contents>
			<CommonPrefixes><Prefix>a/prefix/x/../</Prefix></CommonPrefixes></ListBucketResult>`)
	}), Options{})
	var got []string
	var last error
	for o, err := range s.List(t.Context(), "x", false) {
		if err != nil {
			last = err
			break
		}
		got = append(got, o.Name)
	}
	if last == nil || pages != 2 || len(got) != 2 || got[0] != "x/good" {
		t.Errorf("%v after %d pages: %v", got, pages, last)
	}
}

// A store that ignores If-None-Match is found out, and asked instead.
func TestStoreThatIgnoresCreateOnly(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	fake := fakeS3(t)
	for name, h := range map[string]http.HandlerFunc{
		"ignores": func(w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-None-Match")
			fake.ServeHTTP(w, r)
		},
		"refuses": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") != "" {
				_, _ = io.Copy(io.Discard, r.Body) // so that the answer is read
				refuse(w, 501, "NotImplemented", "A header you provided implies functionality that is not implemented.")
				return
			}
			fake.ServeHTTP(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := measured{id: "a", files: map[string]int64{"charts/large": testParts + 1}}.folder(t)
			other := measured{id: "b"}.folder(t)
			key := keyAt(noon, name)
			u, err := Upload(t.Context(), serve(t, h, Options{}), dir, key, UploadOptions{})
			check(t, err)
			if len(u.Notes) != 1 || !strings.Contains(u.Notes[0], "does not keep If-None-Match") {
				t.Errorf("%q", u.Notes)
			}
			s := serve(t, h, Options{}) // which knows nothing yet
			if err := s.Put(t.Context(), key.String()+"/"+result.FileManifest, sourceOf([]byte("other"))); !errors.Is(err, ErrExists) {
				t.Errorf("overwritten: %v", err)
			}
			var conflict *ConflictError
			if _, err := Upload(t.Context(), s, other, key, UploadOptions{}); !errors.As(err, &conflict) {
				t.Errorf("%v", err)
			}
			if u, err := Upload(t.Context(), s, dir, key, UploadOptions{}); err != nil || !u.Already {
				t.Errorf("%+v %v", u, err)
			}
		})
	}
}

// A store may refuse a second object before the first one shows, which then comes to
// nothing: what is not there is not taken for written.
func TestRefusedBeforeTheFirstShows(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	fake := fakeS3(t)
	var n atomic.Int32
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/second") && n.Add(1) == 1 {
			_, _ = io.Copy(io.Discard, r.Body) // so that the answer is read
			refuse(w, 412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
			return
		}
		fake.ServeHTTP(w, r)
	}), Options{})
	check(t, s.Put(t.Context(), "first", sourceOf([]byte("x"))))
	check(t, s.Put(t.Context(), "second", sourceOf([]byte("ours"))))
	if got, err := readAll(t.Context(), s, "second", 10); err != nil || string(got) != "ours" || n.Load() != 2 {
		t.Errorf("%q, %v after %d requests", got, err, n.Load())
	}
}

// What is said to be there and never shows is not written, and it is said so. Who may not
// look believes the store.
func TestRefusedAndNeverShown(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	for head, want := range map[int]error{404: errUnended, 403: ErrExists} {
		var puts int
		s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				puts++
				_, _ = io.Copy(io.Discard, r.Body) // so that the answer is read
				refuse(w, 412, "PreconditionFailed", "no")
				return
			}
			w.WriteHeader(head)
		}), Options{})
		s.(*bucket).probed.Store(true)
		if err := s.Put(t.Context(), "a", sourceOf([]byte("x"))); !errors.Is(err, want) {
			t.Errorf("HEAD %d: %v", head, err)
		}
		if want == ErrExists && puts != 1 || puts > conflicts {
			t.Errorf("HEAD %d: sent %d times", head, puts)
		}
	}
}

// Who writes at the same instant into a store without create-only is told.
func TestLostAgainstAnotherUploader(t *testing.T) {
	asUser(t, testKeyID, testSecret, "")
	fake := fakeS3(t)
	var rival atomic.Bool
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("If-None-Match")
		fake.ServeHTTP(w, r)
		if r.Method == http.MethodPut && rival.CompareAndSwap(true, false) {
			theirs := httptest.NewRequest(http.MethodPut, r.URL.Path, strings.NewReader("theirs"))
			theirs.Header.Set("Content-Length", "6")
			fake.ServeHTTP(httptest.NewRecorder(), theirs)
		}
	}), Options{})
	check(t, s.Put(t.Context(), "first", sourceOf([]byte("x"))))
	rival.Store(true)
	if err := s.Put(t.Context(), "second", sourceOf([]byte("ours"))); !errors.Is(err, ErrExists) {
		t.Errorf("%v", err)
	}
}

// A store that refuses the newer checksums is sent none.
func TestStoreThatRefusesChecksums(t *testing.T) {
	g := startGateway(t)
	for status, code := range map[int]string{501: "NotImplemented", 400: "InvalidArgument"} {
		at := through(t, g.url, func(w http.ResponseWriter, r *http.Request) bool {
			for name := range r.Header {
				if name = strings.ToLower(name); strings.HasPrefix(name, "x-amz-checksum-") || name == "x-amz-sdk-checksum-algorithm" || name == "x-amz-trailer" {
					_, _ = io.Copy(io.Discard, r.Body) // so that the answer is read
					refuse(w, status, code, "Unsupported header '"+name+"' received for this API call.")
					return true
				}
			}
			return false
		})
		dir, key := measured{id: "a", files: map[string]int64{"charts/large": testParts + 1, "charts/b": 1e6}}.folder(t), keyAt(noon, code)
		s := openAt(t, at, Options{})
		u, err := Upload(t.Context(), s, dir, key, UploadOptions{})
		check(t, err)
		if len(u.Notes) != 1 || !strings.Contains(u.Notes[0], "no checksums of S3's newer kinds") {
			t.Errorf("%q", u.Notes)
		}
		check(t, Fetch(t.Context(), s, key, t.TempDir()+"/back", FetchOptions{}))
		// The first object may be one that is sent in parts.
		check(t, openAt(t, at, Options{}).Put(t.Context(), "alone"+code, sourceOf(random(testParts+1))))
	}
}

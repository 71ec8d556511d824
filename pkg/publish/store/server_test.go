package store

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Keys of the servers of the tests. They are canaries too: no text may hold one.
const (
	testKeyID  = "AKIDCANARY0000000001"
	testSecret = "canary/secret+of/the+server/0001"
	testBucket = "results"
)

// asUser gives the SDK these keys and nothing else of this machine.
func asUser(tb testing.TB, id, secret, session string) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": id, "AWS_SECRET_ACCESS_KEY": secret, "AWS_SESSION_TOKEN": session, "AWS_REGION": "", "AWS_DEFAULT_REGION": "", "AWS_PROFILE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "",
		"HTTP_PROXY": "", "HTTPS_PROXY": "", "http_proxy": "", "https_proxy": "", "ALL_PROXY": "", "all_proxy": "",
	} {
		tb.Setenv(name, value)
	}
}

// fakeS3 is a server in this process, quick and believing every key.
func fakeS3(tb testing.TB) http.Handler {
	backend := s3mem.New()
	check(tb, backend.CreateBucket(testBucket))
	return gofakes3.New(backend, gofakes3.WithLogger(gofakes3.DiscardLog())).Server()
}

// serve starts a handler as a store.
func serve(tb testing.TB, h http.Handler, o Options) Store {
	tb.Helper()
	server := httptest.NewServer(h)
	tb.Cleanup(server.Close)
	return openAt(tb, server.URL, o)
}

func openAt(tb testing.TB, endpoint string, o Options) Store {
	tb.Helper()
	o.Endpoint = endpoint
	if o.MaxAttempts == 0 {
		o.MaxAttempts = 2
	}
	s, err := Open(tb.Context(), "s3://"+testBucket+"/a/prefix", o)
	check(tb, err)
	s.(*bucket).partsFrom.Store(testParts)
	return s
}

// testParts is the size from which the stores of the tests send in parts.
const testParts = 16 << 20

// gateway is a versitygw: a server that nobody here wrote, with real signatures,
// checksums and conditions.
type gateway struct {
	url string
	dir string // where the objects lie as files
}

// gatewayVersion is the one in the Makefile.
const gatewayVersion = "v1.8.0"

// gatewayProgram finds it; a test that needs it is skipped where there is none, but
// never in CI.
func gatewayProgram(tb testing.TB) string {
	tb.Helper()
	name, err := filepath.Abs(filepath.Join("..", "..", "..", ".bin", "versitygw-"+gatewayVersion))
	check(tb, err)
	if _, err := os.Stat(name); err == nil {
		return name
	}
	if name, err := exec.LookPath("versitygw"); err == nil {
		return name
	}
	if os.Getenv("CI") == "true" {
		tb.Fatal("versitygw is missing: make versitygw")
	}
	tb.Skip("versitygw is not here: make versitygw builds it")
	return ""
}

func startGateway(tb testing.TB, flags ...string) *gateway {
	tb.Helper()
	program := gatewayProgram(tb)
	g := &gateway{dir: tb.TempDir()}
	meta := tb.TempDir()
	for range 3 { // another process may take the port in between
		port := freePort(tb)
		var said bytes.Buffer
		args := append([]string{"--port", "127.0.0.1:" + port, "--health", "/healthz", "posix", "--sidecar", meta}, flags...)
		c := exec.Command(program, append(args, g.dir)...)
		c.Env = []string{"ROOT_ACCESS_KEY=" + testKeyID, "ROOT_SECRET_KEY=" + testSecret, "HOME=" + meta}
		c.Stdout, c.Stderr = &said, &said
		check(tb, c.Start())
		gone := make(chan struct{})
		go func() { _ = c.Wait(); close(gone) }()
		g.url = "http://127.0.0.1:" + port
		if g.answers(gone) {
			tb.Cleanup(func() { _ = c.Process.Kill(); <-gone })
			asUser(tb, testKeyID, testSecret, "")
			g.makeBucket(tb)
			return g
		}
		_ = c.Process.Kill()
		<-gone
		tb.Logf("versitygw did not start: %s", said.String())
	}
	tb.Fatal("versitygw did not start")
	return nil
}

func (g *gateway) answers(gone <-chan struct{}) bool {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if res, err := http.Get(g.url + "/healthz"); err == nil {
			res.Body.Close()
			return res.StatusCode == http.StatusOK
		}
		select {
		case <-gone:
			return false
		case <-time.After(20 * time.Millisecond):
		}
	}
	return false
}

func (g *gateway) makeBucket(tb testing.TB) {
	tb.Helper()
	b := openAt(tb, g.url, Options{}).(*bucket)
	_, err := b.client.CreateBucket(tb.Context(), &s3.CreateBucketInput{Bucket: aws.String(testBucket)})
	check(tb, err)
}

func freePort(tb testing.TB) string {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(tb, err)
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// through is a proxy in front of a server that may look at a request, answer it
// instead, or change it. The host stays, which the signature covers.
func through(tb testing.TB, to string, look func(w http.ResponseWriter, r *http.Request) (answered bool)) string {
	tb.Helper()
	target, err := url.Parse(to)
	check(tb, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
	}, ErrorLog: quietLog}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !look(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	tb.Cleanup(server.Close)
	return server.URL
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, message)
}

// stores are all kinds, each empty.
func stores(t *testing.T, test func(t *testing.T, s Store)) {
	t.Run("folder", func(t *testing.T) {
		s, err := Open(t.Context(), filepath.Join(t.TempDir(), "deep", "store"), Options{})
		check(t, err)
		test(t, s)
	})
	t.Run("gofakes3", func(t *testing.T) {
		asUser(t, testKeyID, testSecret, "")
		test(t, serve(t, fakeS3(t), Options{}))
	})
	t.Run("versitygw", func(t *testing.T) { test(t, openAt(t, startGateway(t).url, Options{})) })
}

// names lists a folder.
func names(tb testing.TB, s Store, in string, deep bool) (out []string) {
	tb.Helper()
	for o, err := range s.List(tb.Context(), in, deep) {
		check(tb, err)
		if o.Folder {
			o.Name += "/"
		}
		out = append(out, o.Name)
	}
	return out
}

func noCanary(tb testing.TB, text string) {
	tb.Helper()
	if strings.Contains(strings.ToLower(text), "canary") {
		tb.Errorf("a secret stands in %q", text)
	}
}

// cancelled is a context that is over.
func cancelled(tb testing.TB) context.Context {
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	return ctx
}

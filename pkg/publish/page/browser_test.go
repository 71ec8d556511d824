package page

import (
	"bufio"
	"context"
	"fmt"
	"image/png"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// browser finds Chromium. In CI it must be there.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("Chromium is missing: install the package chromium")
	}
	t.Skip("Chromium is not installed: install the package chromium to open the page in it")
	return ""
}

// seen is what a browser did with a page.
type seen struct {
	console  []string // lines that the page caused on the console
	requests []string // first lines of what it wanted from the network
	shot     string   // file of the screenshot
}

// open opens a page in a browser whose only way out is a proxy of ours that lets
// nothing through and writes everything down.
func open(t *testing.T, path, page string, flags ...string) seen {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var out seen
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			mu.Lock()
			out.requests = append(out.requests, strings.TrimSpace(line))
			mu.Unlock()
			_ = conn.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out.shot = filepath.Join(t.TempDir(), "shot.png")
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-sync", "--disable-client-side-phishing-detection",
		"--user-data-dir=" + t.TempDir(), "--proxy-server=http://" + listener.Addr().String(), "--proxy-bypass-list=<-loopback>",
		"--enable-logging=stderr", "--v=0", "--window-size=1200,2400", "--screenshot=" + out.shot,
	}, flags...)
	log, err := exec.CommandContext(ctx, path, append(args, "file://"+page)...).CombinedOutput()
	_ = listener.Close()
	if err != nil {
		t.Fatalf("%v: %s", err, log)
	}
	mu.Lock()
	defer mu.Unlock()
	for line := range strings.SplitSeq(string(log), "\n") {
		if strings.Contains(line, "CONSOLE") {
			out.console = append(out.console, line)
		}
	}
	return out
}

func TestBrowserOpensThePage(t *testing.T) {
	path := browser(t)
	dir := folder(t, func(s string) string { return s + evil })
	_, text := report(t, dir, Options{Base: dir})
	page := filepath.Join(t.TempDir(), File)
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{"light": nil, "dark": {"--blink-settings=preferredColorScheme=0"}} {
		got := open(t, path, page, flags...)
		if len(got.console) > 0 {
			t.Errorf("%s: console: %q", name, got.console)
		}
		for _, r := range got.requests {
			if !ownOfChromium(r) {
				t.Errorf("%s: a request left the page: %q", name, r)
			}
		}
		back := corner(t, got.shot)
		if want := map[string]string{"light": "ffffff", "dark": "0d1117"}[name]; back != want {
			t.Errorf("%s: the page's background is #%s, want #%s", name, back, want)
		}
		if keep := os.Getenv("AGENTX_SHOTS"); keep != "" {
			if err := os.Rename(got.shot, filepath.Join(keep, name+".png")); err != nil {
				t.Error(err)
			}
		}
	}
}

// ownOfChromium tells what the browser asks its makers for by itself.
func ownOfChromium(request string) bool {
	fields := strings.Fields(request)
	if len(fields) < 2 {
		return true // a connection opened ahead and never used
	}
	address := fields[1]
	if fields[0] == "CONNECT" {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	for _, host := range []string{".google.com", ".googleapis.com", ".gvt1.com"} {
		if strings.HasSuffix(u.Hostname(), host) {
			return true
		}
	}
	return false
}

// What the test above looks for is seen where it happens.
func TestBrowserSeesALeak(t *testing.T) {
	path := browser(t)
	page := filepath.Join(t.TempDir(), "leak.html")
	if err := os.WriteFile(page, []byte(`<!doctype html><img src="http://leak.example/x.png"><script>console.error("seen")</script>`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := open(t, path, page)
	if all := strings.Join(got.requests, "\n"); !strings.Contains(all, "leak.example") {
		t.Errorf("the request was not seen: %q", all)
	}
	if all := strings.Join(got.console, "\n"); !strings.Contains(all, "seen") {
		t.Errorf("the console was not seen: %q", all)
	}
}

func corner(t *testing.T, shot string) string {
	t.Helper()
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	r, g, b, _ := img.At(2, 2).RGBA()
	return fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, b>>8)
}

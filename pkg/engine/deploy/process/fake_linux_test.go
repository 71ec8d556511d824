package process_test

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/org/agentx-action/pkg/engine/deploy"
	"github.com/org/agentx-action/pkg/engine/deploy/process"
)

// The test binary is also the engine that the tests start, and the agentx that
// they kill.
func TestMain(m *testing.M) {
	if os.Getenv(ownMark) == "" {
		_ = os.Setenv(ownMark, fmt.Sprintf("AGENTX_T%d_", os.Getpid()))
	}
	process.Marks(os.Getenv(ownMark))
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "fake-engine":
			fakeEngine(os.Args[2:])
			return
		case "fake-child":
			signal.Ignore(syscall.SIGTERM, syscall.SIGHUP)
			time.Sleep(time.Minute)
			return
		case "fake-agentx":
			fakeAgentx(os.Args[2], os.Args[3:])
			return
		}
	}
	os.Exit(m.Run())
}

// ownMark tells a fake agentx how engines of this test are marked.
const ownMark = "MARK_OF_TEST"

// marked is how the environment of an engine begins.
func marked(name string) string { return os.Getenv(ownMark) + "ENGINE=" + name }

// fakeEngine serves what readiness asks for, with the faults its flags name. It
// ends by itself after a minute, so that a failed test leaves nothing for long.
func fakeEngine(args []string) {
	flags := flag.NewFlagSet("fake-engine", flag.ExitOnError)
	port := flags.String("port", "", "")
	sick := flags.Bool("sick", false, "never healthy")
	mute := flags.Bool("mute", false, "completions fail")
	fail := flags.String("fail", "", "print this and exit with 3 while loading")
	failAfter := flags.String("fail-after", "", "print this and exit with 3 after the first metrics page")
	stubborn := flags.Bool("stubborn", false, "ignore TERM")
	away := flags.Bool("away", false, "start a child in a session of its own that ignores TERM")
	bare := flags.Bool("bare", false, "that child has no environment")
	say := flags.String("say", "", "print this")
	spam := flags.Int("spam", 0, "print so many lines")
	env := flags.Bool("env", false, "print the environment")
	_ = flags.String("api-key", "", "")
	_ = flags.Parse(args)

	time.AfterFunc(time.Minute, func() { os.Exit(9) })
	if *stubborn {
		signal.Ignore(syscall.SIGTERM)
	}
	if *env {
		for _, pair := range os.Environ() {
			fmt.Println(pair)
		}
	}
	if *say != "" {
		fmt.Println(*say)
	}
	if *away {
		child := exec.Command(os.Args[0], "fake-child")
		child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if *bare {
			child.Env = []string{"NOTHING=1"}
		}
		if err := child.Start(); err != nil {
			panic(err)
		}
	}
	for i := range *spam {
		fmt.Println("line", i)
	}
	if *fail != "" {
		time.Sleep(50 * time.Millisecond)
		fmt.Fprintln(os.Stderr, *fail)
		os.Exit(3)
	}
	var asked atomic.Bool
	http.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		if *sick {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	http.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"data":[{"id":"fake"}]}`)
	})
	http.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, _ *http.Request) {
		if *mute {
			http.Error(w, "no worker", http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"red"}}],"usage":{"prompt_tokens":4,"completion_tokens":1}}`)
	})
	http.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 0\n")
		if *failAfter != "" && !asked.Swap(true) {
			time.AfterFunc(200*time.Millisecond, func() {
				fmt.Fprint(os.Stderr, *failAfter) // last words without an end
				os.Exit(3)
			})
		}
	})
	fmt.Println("listening")
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+*port, nil))
	os.Exit(1)
}

// fakeAgentx brings an engine up and is killed.
func fakeAgentx(stateDir string, engine []string) {
	d := &process.Driver{Command: engine, StateDir: stateDir}
	dep, err := deploy.Bring(context.Background(), d, plan())
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(dep.Name)
	time.Sleep(time.Minute)
}

// plan has times that suit a test, each far more than is needed where it isn't
// the subject.
func plan() deploy.Plan {
	return deploy.Plan{
		Load: 20 * time.Second, Answer: 20 * time.Second, Metrics: 20 * time.Second,
		Grace: 5 * time.Second, Down: 20 * time.Second,
	}
}

// command of a fake engine.
func command(t *testing.T, flags ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, "fake-engine", "-port", "{port}"}, flags...)
}

// held is a port that somebody listens on.
func held(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().(*net.TCPAddr).Port
}

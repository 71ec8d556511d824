package openai

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/org/agentx-action/pkg/result/record"
)

// Config says where and how requests are sent. Only URL is needed.
type Config struct {
	// URL is the engine's address: "http://host:8000", "host:8000/v1", or the
	// whole path of an endpoint, which is then used as it is. Without a scheme it
	// is http. It holds no user name and password: use APIKey or Headers.
	URL string
	// Endpoint is the path below URL. Default /v1/chat/completions for messages
	// and /v1/completions for prompts.
	Endpoint string

	APIKey  string                    // sent as Authorization: Bearer
	Headers http.Header               // the user's own; they replace ours of the same name
	TLS     *tls.Config               // default: the system's roots
	Clock   record.Clock              // default: one that starts with the client
	Reuse   ConnectionReuse           // default ReusePooled
	Dial    DialFunc                  // default: TCP with the options of spec/replay.md §9.1
	Extra   map[string]jsontext.Value // members merged into the body at top level (--extra-inputs)

	NonStreaming    bool // ask for one JSON answer; it has no first token
	IgnoreEOS       bool // ignore_eos: true, unless Extra has one
	LegacyMaxTokens bool // max_tokens instead of max_completion_tokens
	PerChunkUsage   bool // stream_options.continuous_usage_stats

	// Timeout bounds a whole request. Default 6 h.
	Timeout time.Duration
	// KeepAlive is how long an idle connection is kept. Default 4 s: uvicorn, and
	// so vLLM and SGLang, closes after 5 s, and a connection that the engine
	// closes just as we take it is a failed request, since nothing is retried.
	// (AIPerf keeps 300 s.)
	KeepAlive time.Duration
	// UserTimeout is how long sent data may stay unacknowledged before the kernel
	// gives a connection up (TCP_USER_TIMEOUT, Linux only). Default 30 s.
	UserTimeout time.Duration
	// MaxConns caps the connections; requests wait for one, which BlockedNs
	// shows. Default 0: no cap. The pool itself never throws an idle connection
	// away before KeepAlive has passed, so it is as large as the fan-out was.
	MaxConns int
	// RetryUnsent sends a request again, up to MaxRetries times and counted in
	// record.HTTP.Retries, when a reused connection turned out to be dead before
	// any byte of the request was written to it. Nothing else is ever retried.
	RetryUnsent bool

	// The correlation id as a routing key: X-Session-ID, X-SMG-Routing-Key, and
	// X-Dynamo-Session-ID with X-Dynamo-Parent-Session-ID for children.
	SessionID, SMGRoutingKey, DynamoSessionID bool
	// SessionHeader renames X-Correlation-ID.
	SessionHeader string
	// TreeHeader names a header for the root's correlation id. The streams of a
	// tree share prefixes: a router that keys on it keeps them on one replica.
	// Default: not sent.
	TreeHeader string

	// OverflowSubstrings are taken, beside the built-in ones of spec/replay.md
	// §4.6, as signs of a context overflow in an engine's error. Case is ignored.
	OverflowSubstrings []string
}

// DialFunc is the shape of [net.Dialer.DialContext]: for tests and proxies.
type DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

// ConnectionReuse says which requests share a connection. The words are those
// of --connection-reuse-strategy.
type ConnectionReuse string

// The strategies of connection reuse (spec/replay.md §9.1).
const (
	ReusePooled ConnectionReuse = "pooled"               // any request may take any idle connection
	ReuseNever  ConnectionReuse = "never"                // a new connection a request
	ReuseSticky ConnectionReuse = "sticky-user-sessions" // one connection a correlation id; see Client.Release
)

// Defaults of Config.
const (
	DefaultTimeout     = 21600 * time.Second
	DefaultKeepAlive   = 4 * time.Second
	DefaultUserTimeout = 30 * time.Second
)

// MaxRetries bounds the retries of one request with Config.RetryUnsent.
const MaxRetries = 3

// UserAgent is sent with every request; the command sets its version.
var UserAgent = "agentx/dev"

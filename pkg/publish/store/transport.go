package store

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"golang.org/x/net/http/httpproxy"
)

// silence is how long a connection may neither take nor give a byte. A store that
// completes a large upload may be silent for a while.
const silence = 2 * time.Minute

// httpClient goes through a proxy that is a value, not the environment as it was
// when the process first looked. AWS_CA_BUNDLE is the SDK's business.
func httpClient(proxy *httpproxy.Config, s *secrets) *awshttp.BuildableClient {
	if proxy == nil {
		proxy = httpproxy.FromEnvironment()
	}
	for _, address := range []string{proxy.HTTPProxy, proxy.HTTPSProxy} {
		if u, err := url.Parse(address); err == nil {
			if password, ok := u.User.Password(); ok {
				s.add(password, u.User.String())
			}
		}
	}
	through := proxy.ProxyFunc()
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.Proxy = func(r *http.Request) (*url.URL, error) { return through(r.URL) }
		t.MaxIdleConnsPerHost = 32
		t.WriteBufferSize, t.ReadBufferSize = 128<<10, 128<<10
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &quiet{c}, nil
		}
	})
}

// quiet ends a connection on which nothing moves. A write renews the time of the
// read that already waits for its answer.
type quiet struct{ net.Conn }

func (q *quiet) Read(p []byte) (int, error) {
	if err := q.renew(); err != nil {
		return 0, err
	}
	return q.Conn.Read(p)
}

func (q *quiet) Write(p []byte) (int, error) {
	if err := q.renew(); err != nil {
		return 0, err
	}
	n, err := q.Conn.Write(p)
	if err == nil { // a slow one used up the time of its answer
		err = q.renew()
	}
	return n, err
}

func (q *quiet) renew() error { return q.SetDeadline(time.Now().Add(silence)) }

// ReadFrom sends a body in large pieces: each costs the machine a wakeup on both sides.
func (q *quiet) ReadFrom(r io.Reader) (n int64, err error) {
	piece := pieces.Get().(*[pieceSize]byte)
	defer pieces.Put(piece)
	return io.CopyBuffer(struct{ io.Writer }{q}, struct{ io.Reader }{r}, piece[:])
}

const pieceSize = 256 << 10

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

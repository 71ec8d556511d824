package corpus

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// refused says what a status means, and what to do.
func (h *hub) refused(res *http.Response, r *remote) error {
	s := &statusError{status: res.StatusCode, host: res.Request.URL.Host, wait: retryAfter(res.Header)}
	switch res.StatusCode {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return s
	case http.StatusUnauthorized, http.StatusForbidden:
		if !h.own(res.Request.URL) {
			return s // an address that has expired: the next try gets another
		}
		s.todo = "the dataset is for some accounts only, or is not there: set HF_TOKEN to a token of an account that may read it"
		if h.token != "" {
			s.todo = fmt.Sprintf("the account of HF_TOKEN may not read the dataset: ask for access on the page of %s, or give a token with the right to read", r.dataset)
		}
	case http.StatusNotFound:
		s.todo = fmt.Sprintf("%s has no traces.jsonl at revision %q", r.dataset, r.asked)
		switch res.Header.Get("X-Error-Code") {
		case "RevisionNotFound":
			s.todo = fmt.Sprintf("%s has no revision %q", r.dataset, r.asked)
		case "RepoNotFound":
			s.todo = fmt.Sprintf("there is no dataset %s, or HF_TOKEN must be that of an account that may read it", r.dataset)
		}
	case http.StatusProxyAuthRequired:
		s.todo = "the proxy wants a name and a password: HTTPS_PROXY=http://name:password@host:port"
	}
	if res.StatusCode >= 500 {
		return s
	}
	return &finalError{s}
}

// statusError is an answer that is none.
type statusError struct {
	status int
	host   string
	todo   string
	wait   time.Duration // that the server asks for
}

func (s *statusError) Error() string {
	text := fmt.Sprintf("%s answered %d %s", s.host, s.status, http.StatusText(s.status))
	if s.todo != "" {
		text += ": " + s.todo
	}
	return text
}

// mostWait bounds what a server may ask for.
const mostWait = 2 * time.Minute

func retryAfter(h http.Header) time.Duration {
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil && s > 0 {
		return min(time.Duration(min(s, 1<<20))*time.Second, mostWait)
	}
	return 0
}

// finalError is one that another try would not mend.
type finalError struct{ error }

func (f *finalError) Unwrap() error { return f.error }

// isFinal reports whether another try is of no use.
func isFinal(err error) bool {
	var final *finalError
	var disk *diskError
	var name *net.DNSError
	var cert *tls.CertificateVerificationError
	return errors.As(err, &final) || errors.As(err, &disk) || errors.As(err, &cert) || errors.As(err, &name) && name.IsNotFound
}

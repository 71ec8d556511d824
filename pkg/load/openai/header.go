package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/textproto"

	"golang.org/x/net/http/httpguts"
)

// transportHeaders are written by the transport: a user's value would contradict
// what is sent.
var transportHeaders = map[string]string{
	"Content-Length":    "the client knows the length of its body",
	"Transfer-Encoding": "the body's length is known, so it is not chunked",
	"Accept-Encoding":   "events of a compressed stream can't be stamped as they arrive",
	"Connection":        "use the connection reuse strategy instead",
	"Te":                "trailers are not read",
	"Trailer":           "no trailers are sent",
	"Upgrade":           "only HTTP/1.1 is spoken",
	"Expect":            "a body is sent without waiting for leave",
}

// baseHeader is what every request carries, and the Host to use if the user
// gave one.
func baseHeader(config Config) (header http.Header, host string, err error) {
	header = http.Header{
		"User-Agent":   {UserAgent},
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream"},
	}
	if config.NonStreaming {
		header.Set("Accept", "application/json")
	}
	if config.APIKey != "" {
		if !httpguts.ValidHeaderFieldValue(config.APIKey) {
			return nil, "", errors.New("the API key holds a character that no header may hold (a line end?)")
		}
		header.Set("Authorization", "Bearer "+config.APIKey)
	}
	for given, values := range config.Headers {
		name := textproto.CanonicalMIMEHeaderKey(given)
		why, refused := transportHeaders[name]
		switch {
		case !httpguts.ValidHeaderFieldName(given):
			return nil, "", fmt.Errorf("header %q is no valid name", given)
		case refused:
			return nil, "", fmt.Errorf("header %s can't be set: %s", given, why)
		case name == "Authorization" && config.APIKey != "":
			return nil, "", errors.New("both an API key and a header Authorization are given: give one")
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return nil, "", fmt.Errorf("the value of header %s holds a character that no header may hold", given)
			}
		}
		if name == "Host" {
			if len(values) > 0 {
				host = values[0]
			}
			continue
		}
		header[name] = append([]string(nil), values...)
	}
	return header, host, nil
}

// idHeaders are the canonical names under which a call's ids are sent.
type idHeaders struct {
	session []string // all hold the correlation id
	parent  string   // holds the parent's, for children; "" for none
	tree    string   // holds the root's; "" for none
}

func newIDHeaders(config Config) (idHeaders, error) {
	name := "X-Correlation-ID"
	if config.SessionHeader != "" {
		name = config.SessionHeader
	}
	h := idHeaders{session: []string{name}, tree: config.TreeHeader}
	for _, name := range []string{name, config.TreeHeader} {
		if name != "" && !httpguts.ValidHeaderFieldName(name) {
			return idHeaders{}, fmt.Errorf("session header %q is no valid name", name)
		}
		if _, refused := transportHeaders[textproto.CanonicalMIMEHeaderKey(name)]; refused {
			return idHeaders{}, fmt.Errorf("session header %s belongs to the transport: take another", name)
		}
	}
	if config.SessionID {
		h.session = append(h.session, "X-Session-ID")
	}
	if config.SMGRoutingKey {
		h.session = append(h.session, "X-SMG-Routing-Key")
	}
	if config.DynamoSessionID {
		h.session = append(h.session, "X-Dynamo-Session-ID")
		h.parent = "X-Dynamo-Parent-Session-ID"
	}
	return h, nil
}

// header is a call's own. Ids replace a user's header of the same name.
func (c *Client) callHeader(call *Call) http.Header {
	h := make(http.Header, len(c.header)+6)
	for name, values := range c.header {
		h[name] = values // shared: nobody writes to it
	}
	if call.RequestID != "" {
		h.Set("X-Request-ID", call.RequestID)
	}
	if call.CorrelationID != "" {
		for _, name := range c.ids.session {
			h.Set(name, call.CorrelationID)
		}
	}
	if call.ParentCorrelationID != "" && c.ids.parent != "" {
		h.Set(c.ids.parent, call.ParentCorrelationID)
	}
	if call.RootCorrelationID != "" && c.ids.tree != "" {
		h.Set(c.ids.tree, call.RootCorrelationID)
	}
	return h
}

package openai

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/org/agentx-action/pkg/result/record"
)

// MaxAnswerBytes is the largest JSON answer, and MaxErrorBytes what is read of
// the body of a status that is not 2xx.
const (
	MaxAnswerBytes = 64 << 20
	MaxErrorBytes  = 64 << 10
)

// excerptBytes is how much of an unexpected answer is quoted.
const excerptBytes = 200

// read judges an answer by its status and its type.
func (x *exchange) read(response *http.Response) *failure {
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return x.readRefusal(response)
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return &failure{class: classBadResponse, message: fmt.Sprintf(
			"the answer is compressed (Content-Encoding: %s) though that was not asked for; its events can't be stamped as they arrive", encoding)}
	}
	switch mediaType(response) {
	case "text/event-stream":
		return x.readStream(response)
	case "application/json":
		return x.readJSON(response)
	case "text/html", "application/xhtml+xml", "text/xml", "application/xml":
		return x.readWebPage(response)
	}
	if x.client.streaming {
		return x.readStream(response)
	}
	return x.readJSON(response)
}

func mediaType(response *http.Response) string {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return kind
}

func notAStream(response *http.Response, start []byte) *failure {
	if len(start) == 0 {
		return &failure{class: classNoContent, message: "the answer is empty"}
	}
	kind := response.Header.Get("Content-Type")
	if mediaType(response) == "text/event-stream" {
		return &failure{class: classTruncated, message: "the stream ended without any event; it starts with " + excerpt(start)}
	}
	if kind == "" {
		kind = "no content type"
	}
	return &failure{class: classBadResponse, message: fmt.Sprintf(
		"the answer (%s) is no stream of events; is the URL an engine's? It starts with %s", kind, excerpt(start))}
}

// readUpTo reads at most limit bytes of a body.
func (x *exchange) readUpTo(body io.Reader, limit int) (raw []byte, whole bool, err error) {
	err = x.readBody(body, func(p []byte, _ record.Stamp) error {
		raw = append(raw, p[:min(len(p), limit-len(raw))]...)
		if len(raw) == limit {
			return errFull
		}
		return nil
	})
	return raw, err == io.EOF, err
}

var errFull = &failure{class: classTooLong, message: "more than was asked for"}

// refusalTime bounds the reading of an answer that has failed already, by its
// status or its type.
const refusalTime = 5 * time.Second

func (x *exchange) hurry() *time.Timer {
	return time.AfterFunc(refusalTime, func() { x.cancel(errLinger) })
}

// readRefusal reads an answer with a status that is not 2xx. The status is the
// failure, whatever becomes of its body.
func (x *exchange) readRefusal(response *http.Response) *failure {
	defer x.hurry().Stop()
	raw, _, _ := x.readUpTo(response.Body, MaxErrorBytes)
	f := &failure{code: response.StatusCode, class: statusClass(response.StatusCode), engine: true, text: string(raw)}
	f.message = errorMessage(raw)
	if f.message == "" {
		f.message = http.StatusText(response.StatusCode)
	}
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		f.message = fmt.Sprintf("redirected to %s: give that address as the URL", response.Header.Get("Location"))
	case http.StatusUnauthorized, http.StatusForbidden:
		f.message += " (check the API key)"
	case http.StatusNotFound:
		f.message += fmt.Sprintf(" (asked for %s: check the model's name and the URL)", display(response.Request.URL))
	}
	return f
}

func (x *exchange) readWebPage(response *http.Response) *failure {
	defer x.hurry().Stop()
	raw, _, _ := x.readUpTo(response.Body, excerptBytes)
	return notAStream(response, raw)
}

// readJSON reads an answer that is one JSON object. Its output came in one
// piece: there is a last token, but no first one.
func (x *exchange) readJSON(response *http.Response) *failure {
	raw, whole, err := x.readUpTo(response.Body, MaxAnswerBytes)
	if !whole {
		if len(raw) == MaxAnswerBytes {
			return &failure{class: classTooLong, message: fmt.Sprintf("the answer is longer than %d MiB", MaxAnswerBytes>>20)}
		}
		return x.client.classifyRead(x.ctx, err, 0)
	}
	f, err := scan(raw)
	if err != nil {
		return &failure{class: classBadResponse, message: fmt.Sprintf("the answer is no JSON object: %v: %s", err, excerpt(raw))}
	}
	if f.failure != nil {
		return engineFailure(f.failure)
	}
	x.seen.Events = 1
	x.seen.Finish = finishReason(f.finish)
	x.seen.Usage = decodeUsage(f.usage, nil)
	if !f.output() {
		return &failure{class: classNoContent, message: "the answer holds no content, reasoning or tool call" + usageNote(f.usage)}
	}
	x.seen.Chunks = 1
	x.seen.LastToken = x.attempt.lastRead
	return nil
}

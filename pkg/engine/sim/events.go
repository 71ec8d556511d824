package sim

import "net/http"

// events writes server-sent events, each flushed on its own.
type events struct {
	chunks  *chunks
	w       http.ResponseWriter
	control *http.ResponseController
	buf     []byte

	newline string
	split   bool // every event in three pieces
	comment bool // a comment before every event
}

func (e *exchange) newEvents() *events {
	f := &e.server.cfg.Faults
	out := &events{
		chunks:  e.newChunks(),
		w:       e.w,
		control: http.NewResponseController(e.w),
		newline: "\n",
		split:   e.struck("split_rate", f.SplitRate),
		comment: e.struck("comment_rate", f.CommentRate),
	}
	if e.struck("crlf_rate", f.CRLFRate) {
		out.newline = "\r\n"
	}
	return out
}

// open sends the header at once, as vLLM does, long before the first token.
func (o *events) open() {
	header := o.w.Header()
	header.Set("Content-Type", "text/event-stream; charset=utf-8")
	header.Set("Cache-Control", "no-cache")
	o.w.WriteHeader(http.StatusOK)
	_ = o.control.Flush() // a client that has left is noticed at the first event
}

// write sends one event; it reports whether the client is still there.
func (o *events) write(data []byte) bool {
	o.buf = o.buf[:0]
	if o.comment {
		o.buf = append(o.buf, ": keep-alive"+o.newline+o.newline...)
	}
	o.buf = append(o.buf, "data: "...)
	o.buf = append(o.buf, data...)
	o.buf = append(o.buf, o.newline+o.newline...)
	if !o.split {
		return o.flush(o.buf)
	}
	n := len(o.buf)
	// The last cut falls into the blank line that ends the event.
	return o.flush(o.buf[:n/2]) && o.flush(o.buf[n/2:n-1]) && o.flush(o.buf[n-1:])
}

func (o *events) flush(b []byte) bool {
	if _, err := o.w.Write(b); err != nil {
		return false
	}
	return o.control.Flush() == nil
}

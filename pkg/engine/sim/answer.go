package sim

import (
	"net/http"
	"strconv"
)

// streamAnswer writes the tokens as they come, then usage and the end mark.
func (e *exchange) streamAnswer() {
	f := &e.server.cfg.Faults
	out := e.newEvents()
	e.served.Status = http.StatusOK
	out.open()
	if e.struck("role_frame_rate", f.RoleFrameRate) {
		out.write(out.chunks.role())
	}
	empty := e.struck("empty_delta_rate", f.EmptyDeltaRate)
	if empty {
		out.write(out.chunks.empty())
	}
	if !e.streamTokens(out, empty) {
		return
	}
	if e.body.includeUsage && !out.chunks.hideUsage {
		out.write(out.chunks.usageOnly(e.served.Done))
	}
	out.write([]byte("[DONE]"))
}

// streamTokens reports whether the stream went on to its proper end.
func (e *exchange) streamTokens(out *events, empty bool) bool {
	middle, sent := e.tokens/2, 0
	struckMiddle := false
	var batch []Event
	for {
		var ok bool
		if batch, ok = e.next(batch); !ok {
			return false
		}
		for _, event := range batch {
			if event.Done == nil && event.Output-sent < e.server.cfg.TokensPerEvent {
				continue
			}
			if !struckMiddle && event.Output > middle {
				struckMiddle = true
				if !e.middleOfStream(out) {
					return false
				}
			}
			if event.Done != nil {
				e.served.Done = event.Done
				e.tell()
			}
			if !out.write(out.chunks.tokens(sent, event)) {
				return false
			}
			if empty && event.Done == nil && event.Output/8 > sent/8 {
				out.write(out.chunks.empty())
			}
			sent = event.Output
			if event.Done != nil {
				return true
			}
		}
	}
}

// middleOfStream is where faults strike a stream; it reports whether the stream
// goes on.
func (e *exchange) middleOfStream(out *events) bool {
	f := &e.server.cfg.Faults
	if e.struck("stall_rate", f.StallRate) && !e.pause(milliseconds(f.StallMs)) {
		return false
	}
	switch {
	case e.struck("stream_error_rate", f.StreamErrorRate):
		out.write(streamError.appendJSON(nil))
		out.write([]byte("[DONE]"))
		return false
	case e.struck("drop_rate", f.DropRate):
		panic(http.ErrAbortHandler)
	case e.struck("truncate_rate", f.TruncateRate):
		return false
	case e.struck("hang_stream_rate", f.HangStreamRate):
		e.hang()
	}
	return true
}

var streamError = &refusal{http.StatusInternalServerError, "InternalServerError", "The engine failed while generating (dialled fault).", ""}

// wholeAnswer writes one JSON object when all tokens are there.
func (e *exchange) wholeAnswer() *refusal {
	f := &e.server.cfg.Faults
	var batch []Event
	for e.served.Done == nil {
		var ok bool
		if batch, ok = e.next(batch); !ok {
			return nil
		}
		for _, event := range batch {
			e.served.Done = event.Done
		}
	}
	text := e.newChunks().whole(e.served.Done)
	if e.struck("stall_rate", f.StallRate) && !e.pause(milliseconds(f.StallMs)) {
		return nil
	}
	if e.struck("stream_error_rate", f.StreamErrorRate) {
		return streamError
	}
	e.served.Status = http.StatusOK
	e.w.Header().Set("Content-Type", "application/json")
	e.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	dropped := e.struck("drop_rate", f.DropRate) || e.struck("truncate_rate", f.TruncateRate)
	if dropped || e.struck("hang_stream_rate", f.HangStreamRate) {
		_, _ = e.w.Write(text[:len(text)/2])
		_ = http.NewResponseController(e.w).Flush()
		if dropped {
			panic(http.ErrAbortHandler)
		}
		e.hang()
	}
	e.tell()
	_, _ = e.w.Write(text)
	return nil
}

// writeGarbage is what a proxy in front of a dead engine says.
func (e *exchange) writeGarbage() {
	e.served.Status = http.StatusOK
	const page = "<html><body>502 upstream unavailable</body></html>"
	if e.body.stream {
		e.w.Header().Set("Content-Type", "text/event-stream")
		_, _ = e.w.Write([]byte("data: " + page + "\n\n"))
		return
	}
	e.w.Header().Set("Content-Type", "application/json")
	_, _ = e.w.Write([]byte(page))
}

package sim

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// refusal is an answer in OpenAI's error shape.
type refusal struct {
	status        int
	kind, message string
	param         string
}

func badRequest(param, format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, "BadRequestError", fmt.Sprintf(format, args...), param}
}

// refuseBody puts into HTTP's words why a body could not be read.
func refuseBody(err error) *refusal {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return &refusal{http.StatusRequestEntityTooLarge, "BadRequestError",
			fmt.Sprintf("The request body is larger than %d bytes.", tooLarge.Limit), ""}
	}
	return badRequest("", "Invalid request body: %v", err)
}

type errorBody struct {
	Error errorDetail `json:"error"`
}

type errorDetail struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    int     `json:"code"`
}

// appendJSON appends the error as JSON.
func (r *refusal) appendJSON(b []byte) []byte {
	detail := errorDetail{Message: r.message, Type: r.kind, Code: r.status}
	if r.param != "" {
		detail.Param = &r.param
	}
	text, err := json.Marshal(errorBody{detail}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		panic(err) // strings and a number cannot fail
	}
	return append(b, text...)
}

func (r *refusal) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(r.appendJSON(nil))
}

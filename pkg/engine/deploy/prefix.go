package deploy

import "strings"

// bare takes off what loggers put before a message: Compose's service, the
// process of vLLM and Ray, the rank of torchrun, SGLang's time, and a level with
// time and place. The message keeps its indentation.
func bare(line string) (text, level string) {
	for range 4 { // as many as come together, and one
		if rest, ok := withoutService(line); ok {
			line = rest
		}
		if rest, ok := withoutBracket(line); ok {
			line = rest
		}
		if rest, name := withoutLevel(line); name != "" {
			line, level = rest, name
		}
	}
	return strings.TrimRight(line, " \t"), level
}

// withoutService cuts Compose's "engine-1  | ".
func withoutService(line string) (string, bool) {
	name, rest, ok := strings.Cut(line, " | ")
	name = strings.TrimRight(name, " ")
	return rest, ok && name != "" && !strings.ContainsAny(name, " \t()[]:")
}

// withoutBracket cuts "(EngineCore_DP0 pid=17)", "[rank0]:" and "[2025-03-29 …]".
func withoutBracket(line string) (string, bool) {
	if line == "" {
		return "", false
	}
	var inside, rest string
	var ok bool
	switch line[0] {
	case '(':
		inside, rest, ok = strings.Cut(line[1:], ")")
		ok = ok && strings.Contains(inside, "pid=")
	case '[':
		inside, rest, ok = strings.Cut(line[1:], "]")
		if strings.HasPrefix(inside, "rank") {
			rest, ok = strings.CutPrefix(rest, ":")
		} else {
			ok = ok && like(inside, "0000-00-00")
		}
	}
	return strings.TrimPrefix(rest, " "), ok
}

// withoutLevel cuts "ERROR 05-23 09:31:47 [core.py:396] ", the same without the
// first bracket, and "ERROR:    ".
func withoutLevel(line string) (rest, level string) {
	for _, level := range [...]string{"INFO", "WARNING", "ERROR", "DEBUG", "CRITICAL"} {
		rest, ok := strings.CutPrefix(line, level)
		switch {
		case !ok:
		case strings.HasPrefix(rest, ": "):
			return strings.TrimLeft(rest[1:], " "), level
		case like(rest, " 00-00 00:00:00 "):
			if _, message, ok := strings.Cut(rest, "] "); ok {
				return message, level
			}
		}
	}
	return line, ""
}

// like tells whether text begins as the pattern, in which 0 is any digit.
func like(text, pattern string) bool {
	if len(text) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		digit := text[i] >= '0' && text[i] <= '9'
		if pattern[i] == '0' && !digit || pattern[i] != '0' && text[i] != pattern[i] {
			return false
		}
	}
	return true
}

package asm

import "fmt"

// A token is a word of a line with its column.
type token struct {
	text string
	col  int // from 1
}

// A line holds the tokens of a line of text.
type line struct {
	tokens []token
	number int // from 1
}

// tokenizeLine splits a line into tokens: runs without blanks, and quoted strings including
// their quotes. A token that begins with # or ; starts a comment.
func tokenizeLine(text string, number int) (line, error) {
	l := line{number: number}
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
			continue
		case c == '#' || c == ';':
			return l, nil
		}
		start, quoted := i, false
		for i < len(text) && (quoted || text[i] != ' ' && text[i] != '\t' && text[i] != '\r') {
			if text[i] == '"' {
				quoted = !quoted
			} else if text[i] == '\\' && quoted {
				i++
			}
			i++
		}
		if i = min(i, len(text)); quoted {
			return l, &Error{Line: number, Col: start + 1, What: "unterminated string"}
		}
		l.tokens = append(l.tokens, token{text[start:i], start + 1})
	}
	return l, nil
}

// errorAt returns an error with the formatted text and the position of token t.
func (l line) errorAt(t token, format string, args ...any) *Error {
	return &Error{Line: l.number, Col: t.col, What: fmt.Sprintf(format, args...)}
}

// suffixFrom returns the part of t from byte n on as a token with its own column.
func (t token) suffixFrom(n int) token { return token{t.text[n:], t.col + n} }

package asm

import "fmt"

// A token is a word of a line and the column it stands at.
type token struct {
	text string
	col  int // from 1
}

// A line is a line's tokens.
type line struct {
	tokens []token
	number int // from 1
}

// split cuts a line into tokens: runs without blanks, and quoted strings, whose quotes
// stay. A # or ; that begins a token begins a comment.
func split(text string, number int) (line, error) {
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
			return l, &Error{Line: number, Col: start + 1, What: "string has no closing quote"}
		}
		l.tokens = append(l.tokens, token{text[start:i], start + 1})
	}
	return l, nil
}

// fail makes an error at a token.
func (l line) fail(t token, format string, args ...any) *Error {
	return &Error{Line: l.number, Col: t.col, What: fmt.Sprintf(format, args...)}
}

// after is a token's text from a byte on, where it stands.
func (t token) after(n int) token { return token{t.text[n:], t.col + n} }

package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// growthDigits is the width that NumPy reserves for the first extent, so that a file can grow in
// place.
const growthDigits = 21

// appendHeader appends the beginning of a .npy file to dst: the magic string, version 1.0, and a
// header with the element type descr and the shape.
func appendHeader(dst []byte, descr string, shape []int) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, formatTuple(shape))
	if len(shape) > 0 {
		text += strings.Repeat(" ", growthDigits-len(strconv.Itoa(shape[0])))
	}
	const before, newline = len(magic) + 4, 1
	// A header that is already aligned gets another 64 spaces, as from numpy.save.
	text += strings.Repeat(" ", alignment-(before+len(text)+newline)%alignment) + "\n"
	dst = append(dst, magic...)
	dst = append(dst, 1, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(text)))
	return append(dst, text...)
}

// formatTuple returns a shape as a Python tuple, such as (), (3,) or (3, 4).
func formatTuple(shape []int) string {
	var b strings.Builder
	for i, d := range shape {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(d))
	}
	if len(shape) == 1 {
		b.WriteByte(',')
	}
	return "(" + b.String() + ")"
}

type header struct {
	descr    string
	fortran  bool
	shape    []int
	shapeOff int64 // byte offset in the file
}

// A parser parses a header, which is a Python dictionary with three keys.
type parser struct {
	text []byte
	off  int64 // byte offset of text in the file
	at   int
}

func (p *parser) errorf(format string, args ...any) error {
	return newFormatError(p.off+int64(p.at), format, args...)
}

func (p *parser) parseHeader() (h header, err error) {
	if !p.acceptByte('{') {
		return h, p.errorf("missing '{'; want a dictionary")
	}
	seen := make(map[string]bool)
	for !p.acceptByte('}') {
		key, err := p.parseString()
		if err != nil {
			return h, err
		}
		// Python keeps the last of two equal keys, and a reader in another language may keep the first.
		if seen[key] {
			return h, p.errorf("duplicate key %q", key)
		}
		seen[key] = true
		if !p.acceptByte(':') {
			return h, p.errorf("missing ':' after key %q", key)
		}
		switch key {
		case "descr":
			h.descr, err = p.parseType()
		case "fortran_order":
			h.fortran, err = p.parseBool()
		case "shape":
			p.skipSpace()
			// Errors about the shape are found later, and name this place.
			h.shapeOff = p.off + int64(p.at)
			h.shape, err = p.parseTuple()
		default:
			err = p.errorf("unknown key %q; want descr, fortran_order or shape", key)
		}
		if err != nil {
			return h, err
		}
		// Python writes a comma after the last value, too.
		if !p.acceptByte(',') {
			if !p.acceptByte('}') {
				return h, p.errorf("missing ',' or '}' after the value of %q", key)
			}
			break
		}
	}
	// Unknown and duplicate keys are refused above, so three keys are the three known ones.
	if len(seen) != 3 {
		return h, p.errorf("dictionary has %d keys; want descr, fortran_order and shape", len(seen))
	}
	if p.skipSpace(); p.at != len(p.text) {
		return h, p.errorf("unexpected text after the dictionary")
	}
	return h, nil
}

// skipSpace advances over white space.
func (p *parser) skipSpace() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// acceptByte skips white space and then consumes the byte c. If another byte follows the space,
// acceptByte returns false and does not consume that byte.
func (p *parser) acceptByte(c byte) bool {
	p.skipSpace()
	if p.at == len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

// parseString parses a string in single or double quotes. It does not support escapes, which
// headers do not contain.
func (p *parser) parseString() (string, error) {
	for _, quote := range []byte("'\"") {
		if !p.acceptByte(quote) {
			continue
		}
		n := bytes.IndexByte(p.text[p.at:], quote)
		if n < 0 {
			return "", p.errorf("unterminated string")
		}
		s := string(p.text[p.at : p.at+n])
		p.at += n + 1
		return s, nil
	}
	return "", p.errorf("missing quoted string")
}

// parseType parses an element type. A structured type, which is a list, is returned as written, for
// use in an error message.
func (p *parser) parseType() (string, error) {
	if p.skipSpace(); p.at == len(p.text) || p.text[p.at] != '[' {
		return p.parseString()
	}
	depth, quote := 0, byte(0)
	for i, c := range p.text[p.at:] {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '[':
			depth++
		case c == ']':
			if depth--; depth == 0 {
				s := string(p.text[p.at : p.at+i+1])
				p.at += i + 1
				return s, nil
			}
		}
	}
	return "", p.errorf("unterminated list")
}

func (p *parser) parseBool() (bool, error) {
	p.skipSpace()
	for word, v := range map[string]bool{"True": true, "False": false} {
		if bytes.HasPrefix(p.text[p.at:], []byte(word)) {
			p.at += len(word)
			return v, nil
		}
	}
	return false, p.errorf("invalid boolean; want True or False")
}

func (p *parser) parseTuple() ([]int, error) {
	if !p.acceptByte('(') {
		return nil, p.errorf("missing '('; shape must be a tuple")
	}
	shape := []int{}
	for !p.acceptByte(')') {
		if len(shape) == maxAxes {
			return nil, p.errorf("shape has more than %d dimensions", maxAxes)
		}
		d, err := p.parseExtent()
		if err != nil {
			return nil, err
		}
		shape = append(shape, d)
		if p.acceptByte(',') {
			continue
		}
		if len(shape) == 1 || !p.acceptByte(')') {
			return nil, p.errorf("malformed shape after %d; want a tuple such as (3,) or (2, 3)", d)
		}
		break
	}
	return shape, nil
}

func (p *parser) parseExtent() (int, error) {
	p.skipSpace()
	end := p.at
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	d, err := strconv.Atoi(string(p.text[p.at:end]))
	if err != nil {
		return 0, p.errorf("invalid dimension; want a number from 0 to %d", int(^uint(0)>>1))
	}
	p.at = end
	if p.at < len(p.text) && p.text[p.at] == 'L' { // a long of Python 2
		p.at++
	}
	return d, nil
}

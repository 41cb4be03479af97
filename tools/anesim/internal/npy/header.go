package npy

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// growthDigits is the width NumPy keeps free for the first extent, so that a file can
// grow in place.
const growthDigits = 21

// appendHeader appends the magic, version 1.0 and the header.
func appendHeader(dst []byte, descr string, shape []int) []byte {
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple(shape))
	if len(shape) > 0 {
		text += strings.Repeat(" ", growthDigits-len(strconv.Itoa(shape[0])))
	}
	const before, newline = len(magic) + 4, 1
	// A text that ends on the alignment is followed by a whole unit of spaces.
	text += strings.Repeat(" ", alignment-(before+len(text)+newline)%alignment) + "\n"
	dst = append(dst, magic...)
	dst = append(dst, 1, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(len(text)))
	return append(dst, text...)
}

// tuple spells a shape as Python does: (), (3,), (3, 4).
func tuple(shape []int) string {
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

// A parser reads the one Python literal a header is: a dictionary of three keys.
type parser struct {
	text []byte
	off  int64 // byte offset of text in the file
	at   int
}

func (p *parser) fail(format string, args ...any) error {
	return malformed(p.off+int64(p.at), format, args...)
}

func (p *parser) header() (h header, err error) {
	if !p.next('{') {
		return h, p.fail("header is no dictionary")
	}
	seen := make(map[string]bool)
	for !p.next('}') {
		key, err := p.str()
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, p.fail("key %q again", key)
		}
		seen[key] = true
		if !p.next(':') {
			return h, p.fail("no colon after key %q", key)
		}
		switch key {
		case "descr":
			h.descr, err = p.descr()
		case "fortran_order":
			h.fortran, err = p.boolean()
		case "shape":
			p.space()
			h.shapeOff = p.off + int64(p.at)
			h.shape, err = p.tuple()
		default:
			err = p.fail("key %q, want descr, fortran_order and shape", key)
		}
		if err != nil {
			return h, err
		}
		if !p.next(',') {
			if !p.next('}') {
				return h, p.fail("no comma and no end after the value of %q", key)
			}
			break
		}
	}
	if len(seen) != 3 {
		return h, p.fail("%d of the keys descr, fortran_order and shape", len(seen))
	}
	if p.space(); p.at != len(p.text) {
		return h, p.fail("text behind the dictionary")
	}
	return h, nil
}

// space skips white space.
func (p *parser) space() {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
}

// next consumes c when it comes next.
func (p *parser) next(c byte) bool {
	p.space()
	if p.at == len(p.text) || p.text[p.at] != c {
		return false
	}
	p.at++
	return true
}

// str reads a string; those of a header have no escapes.
func (p *parser) str() (string, error) {
	for _, quote := range []byte("'\"") {
		if !p.next(quote) {
			continue
		}
		n := bytes.IndexByte(p.text[p.at:], quote)
		if n < 0 {
			return "", p.fail("string without an end")
		}
		s := string(p.text[p.at : p.at+n])
		p.at += n + 1
		return s, nil
	}
	return "", p.fail("no string")
}

// descr reads an element type. That of a structure is a list; it comes back whole, for
// the error that names it.
func (p *parser) descr() (string, error) {
	if p.space(); p.at == len(p.text) || p.text[p.at] != '[' {
		return p.str()
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
	return "", p.fail("list without an end")
}

func (p *parser) boolean() (bool, error) {
	p.space()
	for word, v := range map[string]bool{"True": true, "False": false} {
		if bytes.HasPrefix(p.text[p.at:], []byte(word)) {
			p.at += len(word)
			return v, nil
		}
	}
	return false, p.fail("neither True nor False")
}

func (p *parser) tuple() ([]int, error) {
	if !p.next('(') {
		return nil, p.fail("shape is no tuple")
	}
	shape := []int{}
	for !p.next(')') {
		if len(shape) == maxAxes {
			return nil, p.fail("more than %d axes", maxAxes)
		}
		d, err := p.extent()
		if err != nil {
			return nil, err
		}
		shape = append(shape, d)
		if p.next(',') {
			continue
		}
		if len(shape) == 1 || !p.next(')') {
			return nil, p.fail("no comma after extent %d", d)
		}
		break
	}
	return shape, nil
}

func (p *parser) extent() (int, error) {
	p.space()
	end := p.at
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	d, err := strconv.Atoi(string(p.text[p.at:end]))
	if err != nil {
		return 0, p.fail("no extent from 0 to %d", int(^uint(0)>>1))
	}
	p.at = end
	if p.at < len(p.text) && p.text[p.at] == 'L' { // a long of Python 2
		p.at++
	}
	return d, nil
}

package mil

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/x448/float16"
)

// A SyntaxError is a text that says no program.
type SyntaxError struct {
	Line int
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Parse reads a program's text. Errors are a *[SyntaxError].
func Parse(text string) (p *Program, err error) {
	s := &parser{text: text, line: 1}
	defer func() {
		// The parser leaves its recursion by a panic of its own kind.
		if e, ok := recover().(*SyntaxError); ok {
			p, err = nil, e
		} else if e != nil {
			panic(e)
		}
	}()
	s.next()
	return s.program(), nil
}

// A parser reads tokens: a word, a number, a text in quotes, or one mark.
type parser struct {
	text            string
	at, line, depth int
	token           string
	quoted          bool
	operations      int
	arguments       int
}

func (s *parser) fail(format string, v ...any) {
	panic(&SyntaxError{s.line, fmt.Sprintf(format, v...)})
}

func word(c byte) bool {
	return c == '_' || c == '.' || c == ':' || c == '@' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// next reads a token; "" is the end.
func (s *parser) next() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == '\n':
			s.line++
			s.at++
		case c == ' ' || c == '\t' || c == '\r':
			s.at++
		case strings.HasPrefix(s.text[s.at:], "//"):
			end := strings.IndexByte(s.text[s.at:], '\n')
			if end < 0 {
				end = len(s.text) - s.at
			}
			s.at += end
		default:
			s.scan()
			return
		}
	}
	s.token, s.quoted = "", false
}

func (s *parser) scan() {
	begin := s.at
	c := s.text[begin]
	s.quoted = c == '"'
	switch {
	case s.quoted:
		for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
			if s.text[s.at] == '\\' {
				s.at++
			}
			if s.at < len(s.text) && s.text[s.at] == '\n' {
				s.fail("a text that does not end")
			}
		}
		if s.at >= len(s.text) {
			s.fail("a text that does not end")
		}
		s.at++
		t, err := strconv.Unquote(s.text[begin:s.at])
		if err != nil {
			t = s.text[begin+1 : s.at-1]
		}
		s.token = t
		return
	case strings.HasPrefix(s.text[begin:], "->"):
		s.at += 2
	case word(c), c == '-', c == '+':
		for s.at++; s.at < len(s.text); s.at++ {
			d := s.text[s.at]
			exponent := (d == '-' || d == '+') && strings.IndexByte("pPeE", s.text[s.at-1]) >= 0 && c != '"' && (c >= '0' && c <= '9' || c == '-' || c == '+')
			if !word(d) && !exponent {
				break
			}
		}
	default:
		s.at++
	}
	s.token = s.text[begin:s.at]
}

// is reports whether the token is a mark, and goes on behind it.
func (s *parser) is(mark string) bool {
	if s.quoted || s.token != mark {
		return false
	}
	s.next()
	return true
}

func (s *parser) want(mark string) {
	if !s.is(mark) {
		s.fail("%q where %q is wanted", s.token, mark)
	}
}

func (s *parser) name() string {
	t := s.token
	if s.quoted || t == "" || !word(t[0]) {
		s.fail("%q where a name is wanted", t)
	}
	s.next()
	return t
}

func (s *parser) program() *Program {
	p := &Program{}
	if s.name() != "program" {
		s.fail("a program is wanted")
	}
	s.want("(")
	p.Version = s.name()
	s.want(")")
	if s.is("[") {
		s.attributes()
	}
	s.want("{")
	for !s.is("}") {
		if s.name() != "func" {
			s.fail("a function is wanted")
		}
		p.Functions = append(p.Functions, s.function())
	}
	if s.token != "" || s.quoted {
		s.fail("%q behind the program", s.token)
	}
	return p
}

func (s *parser) function() Function {
	f := Function{Name: s.name()}
	if s.is("<") {
		f.Opset = s.name()
		s.want(">")
	}
	s.want("(")
	for !s.is(")") {
		t := s.typed()
		f.Inputs = append(f.Inputs, Var{s.name(), t})
		if !s.is(",") && s.token != ")" {
			s.fail("%q between inputs", s.token)
		}
	}
	if s.is("[") {
		s.attributes()
	}
	s.want("{")
	for !s.is("}") {
		f.Operations = append(f.Operations, s.operation())
	}
	s.want("->")
	s.want("(")
	for !s.is(")") {
		f.Outputs = append(f.Outputs, s.name())
		if !s.is(",") && s.token != ")" {
			s.fail("%q between outputs", s.token)
		}
	}
	s.want(";")
	return f
}

func (s *parser) operation() Operation {
	if s.operations++; s.operations > maxOperations {
		s.fail("more than %d operations", maxOperations)
	}
	op := Operation{Off: int64(s.line)}
	for {
		t := s.typed()
		op.Outputs = append(op.Outputs, Var{s.name(), t})
		if s.is("=") {
			break
		}
		s.want(",")
	}
	op.Type = s.name()
	s.want("(")
	for !s.is(")") {
		if op.Inputs == nil {
			op.Inputs = map[string][]Argument{}
		}
		key := s.name()
		s.want("=")
		op.Inputs[key] = s.values()
		if !s.is(",") && s.token != ")" {
			s.fail("%q between arguments", s.token)
		}
	}
	if s.is("[") {
		op.Attributes = s.attributes()
	}
	s.want(";")
	return op
}

// attributes are name = value pairs to a closing bracket.
func (s *parser) attributes() map[string]Value {
	m := map[string]Value{}
	for !s.is("]") {
		key := s.name()
		s.want("=")
		if a := s.argument(); a.Name == "" {
			m[key] = a.Value
		}
		if !s.is(",") && s.token != "]" {
			s.fail("%q between attributes", s.token)
		}
	}
	return m
}

// values are one argument, or several in parentheses.
func (s *parser) values() []Argument {
	if !s.is("(") {
		return []Argument{s.argument()}
	}
	var list []Argument
	for !s.is(")") {
		list = append(list, s.argument())
		if !s.is(",") && s.token != ")" {
			s.fail("%q between values", s.token)
		}
	}
	return list
}

func (s *parser) deeper() {
	if s.depth++; s.depth > maxDepth {
		s.fail("values more than %d deep", maxDepth)
	}
}

// typed reads a type.
func (s *parser) typed() Type {
	s.deeper()
	defer func() { s.depth-- }()
	var t Type
	switch name := s.name(); name {
	case "tensor":
		s.want("<")
		t.Elem = Elem(s.name())
		s.want(",")
		s.want("[")
		t.Dims = []int64{}
		for !s.is("]") {
			n, err := strconv.ParseInt(s.token, 10, 64)
			if err != nil || n < 0 {
				n = -1 // a name, or a question mark
			}
			s.next()
			if t.Dims = append(t.Dims, n); len(t.Dims) > maxRank {
				s.fail("more than %d dimensions", maxRank)
			}
			if !s.is(",") && s.token != "]" {
				s.fail("%q between dimensions", s.token)
			}
		}
		s.want(">")
	case "list", "tuple", "dict", "state":
		t.Kind = map[string]Kind{"list": List, "tuple": Tuple, "dict": Dictionary, "state": State}[name]
		s.want("<")
		for !s.is(">") {
			if strings.IndexFunc(s.token, func(r rune) bool { return r < '0' || r > '9' }) < 0 && s.token != "" || s.token == "?" {
				s.next() // a list's length
			} else if inner := s.typed(); t.Kind == State {
				t.Elem, t.Dims = inner.Elem, inner.Dims
			}
			if !s.is(",") && s.token != ">" {
				s.fail("%q within a type", s.token)
			}
		}
	default:
		t.Elem = Elem(name)
	}
	return t
}

// argument is a name, or a type with a value in parentheses.
func (s *parser) argument() Argument {
	s.deeper()
	defer func() { s.depth-- }()
	if s.arguments++; s.arguments > maxArguments {
		s.fail("more than %d arguments", maxArguments)
	}
	if s.is("(") {
		var v Value
		v.Type.Kind = Tuple
		for !s.is(")") {
			v.Values = append(v.Values, s.argument().Value)
			if !s.is(",") && s.token != ")" {
				s.fail("%q within a tuple", s.token)
			}
		}
		return Argument{Value: v}
	}
	at, line := s.at, s.line
	name := s.name()
	if s.token != "(" && s.token != "<" || s.quoted {
		return Argument{Name: name}
	}
	// A type after all: read it again as one.
	s.at, s.line = at, line
	s.token, s.quoted = name, false
	t := s.typed()
	return Argument{Value: s.literal(t)}
}

// literal is what stands in parentheses behind a type.
func (s *parser) literal(t Type) Value {
	v := Value{Type: t}
	s.want("(")
	switch {
	case s.token == "BLOBFILE" && !s.quoted:
		s.next()
		s.want("(")
		for !s.is(")") {
			key := s.name()
			s.want("=")
			a := s.argument()
			switch {
			case key == "path" && len(a.Value.Strings) == 1:
				v.File = a.Value.Strings[0]
			case key == "offset" && len(a.Value.Data) == 8:
				v.Offset = binary.LittleEndian.Uint64(a.Value.Data)
			}
			if !s.is(",") && s.token != ")" {
				s.fail("%q within BLOBFILE", s.token)
			}
		}
		if v.File == "" {
			s.fail("BLOBFILE without a path")
		}
	case t.Kind != Tensor:
		s.skip()
		return v
	default:
		s.elements(&v)
	}
	s.want(")")
	if n := t.Elements(); v.File == "" && (t.Elem == "string" && len(v.Strings) != n || t.Elem.Bits() > 0 && len(v.Data) != n*max(8, t.Elem.Bits())/8) {
		s.fail("%d bytes and %d texts for a %s of %v", len(v.Data), len(v.Strings), t.Elem, t.Dims)
	}
	return v
}

// skip goes to behind the parenthesis that closes a value that is not read.
func (s *parser) skip() {
	for depth := 1; depth > 0; s.next() {
		switch {
		case s.token == "" && !s.quoted:
			s.fail("a value that does not end")
		case s.quoted:
		case s.token == "(":
			depth++
		case s.token == ")":
			depth--
		}
	}
}

// elements are numbers, words and texts in any number of brackets.
func (s *parser) elements(v *Value) {
	for depth := 0; ; {
		switch {
		case s.token == "" && !s.quoted:
			s.fail("a value that does not end")
		case s.is("["):
			depth++
		case s.is("]"):
			depth--
		case s.is(","):
		case !s.quoted && s.token == ")":
			if depth != 0 {
				s.fail("brackets that do not match")
			}
			return
		default:
			s.element(v)
			s.next()
		}
	}
}

func (s *parser) element(v *Value) {
	le, t := binary.LittleEndian, s.token
	switch e := v.Type.Elem; e {
	case "string":
		if !s.quoted {
			s.fail("%q where a text is wanted", t)
		}
		v.Strings = append(v.Strings, t)
	case "bool":
		switch t {
		case "true", "1":
			v.Data = append(v.Data, 1)
		case "false", "0":
			v.Data = append(v.Data, 0)
		default:
			s.fail("%q where true or false is wanted", t)
		}
	case "fp16", "fp32", "fp64", "bf16":
		x, err := strconv.ParseFloat(t, 64)
		if err != nil && !math.IsInf(x, 0) {
			s.fail("%q where a number is wanted", t)
		}
		switch e {
		case "fp64":
			v.Data = le.AppendUint64(v.Data, math.Float64bits(x))
		case "fp32":
			v.Data = le.AppendUint32(v.Data, math.Float32bits(float32(x)))
		case "bf16":
			v.Data = le.AppendUint16(v.Data, uint16(math.Float32bits(float32(x))>>16))
		default:
			v.Data = le.AppendUint16(v.Data, float16.Fromfloat32(float32(x)).Bits())
		}
	default:
		if e.Bits() == 0 {
			s.fail("elements of %q", string(e))
		}
		i, err := strconv.ParseInt(t, 0, 64)
		if u, e := strconv.ParseUint(t, 0, 64); err != nil && e == nil {
			i, err = int64(u), nil
		}
		if err != nil {
			s.fail("%q where a whole number is wanted", t)
		}
		for n := max(8, e.Bits()); n > 0; n -= 8 {
			v.Data = append(v.Data, byte(i))
			i >>= 8
		}
	}
}

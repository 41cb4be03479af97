package mil

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/x448/float16"
)

// A SyntaxError reports that a line of a program's text is malformed.
type SyntaxError struct {
	Line int
	What string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Parse parses the text of a program, such as the file model.mil of a compiled model. The error is
// a *[SyntaxError].
func Parse(text string) (p *Program, err error) {
	s := &parser{text: text, line: 1}
	defer func() {
		// The parser reports an error by a panic with a *SyntaxError.
		if e, ok := recover().(*SyntaxError); ok {
			p, err = nil, e
		} else if e != nil {
			panic(e)
		}
	}()
	s.nextToken()
	return s.parseProgram(), nil
}

// A parser splits a text into tokens: names, numbers, quoted strings and punctuation.
type parser struct {
	text            string
	at, line, depth int
	token           string
	quoted          bool
	operations      int
	arguments       int
	function        *Function // whose attributes are being read, or nil
	flexible        bool      // the next value has the shapes of the function's inputs
}

func (s *parser) recordError(format string, v ...any) {
	panic(&SyntaxError{s.line, fmt.Sprintf(format, v...)})
}

func isWordByte(c byte) bool {
	return c == '_' || c == '.' || c == ':' || c == '@' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// nextToken reads the next token. At the end of the text, the token is "".
func (s *parser) nextToken() {
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
			s.scanToken()
			return
		}
	}
	s.token, s.quoted = "", false
}

func (s *parser) scanToken() {
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
				s.recordError("unterminated string")
			}
		}
		if s.at >= len(s.text) {
			s.recordError("unterminated string")
		}
		s.at++
		// Escapes that Go does not have, such as of a path, are kept as they are.
		t, err := strconv.Unquote(s.text[begin:s.at])
		if err != nil {
			t = s.text[begin+1 : s.at-1]
		}
		s.token = t
		return
	case strings.HasPrefix(s.text[begin:], "->"):
		s.at += 2
	case isWordByte(c), c == '-', c == '+':
		for s.at++; s.at < len(s.text); s.at++ {
			d := s.text[s.at]
			// A sign belongs to a number only after the letter of an exponent, also in the hexadecimal
			// form 0x1p-3, which the text uses for floats.
			exponent := (d == '-' || d == '+') && strings.IndexByte("pPeE", s.text[s.at-1]) >= 0 && c != '"' && (c >= '0' && c <= '9' || c == '-' || c == '+')
			if !isWordByte(d) && !exponent {
				break
			}
		}
	default:
		s.at++
	}
	s.token = s.text[begin:s.at]
}

// acceptMark reads the next token and returns true if the current token is the given punctuation.
// Otherwise, it returns false.
func (s *parser) acceptMark(mark string) bool {
	if s.quoted || s.token != mark {
		return false
	}
	s.nextToken()
	return true
}

func (s *parser) expectMark(mark string) {
	if !s.acceptMark(mark) {
		s.recordError("unexpected %q; want %q", s.token, mark)
	}
}

func (s *parser) parseName() string {
	t := s.token
	if s.quoted || t == "" || !isWordByte(t[0]) {
		s.recordError("unexpected %q; want a name", t)
	}
	s.nextToken()
	return t
}

func (s *parser) parseProgram() *Program {
	p := &Program{}
	if word := s.parseName(); word != "program" {
		s.recordError(`unexpected %q; want "program"`, word)
	}
	s.expectMark("(")
	p.Version = s.parseName()
	s.expectMark(")")
	if s.acceptMark("[") {
		s.parseAttributes()
	}
	s.expectMark("{")
	for !s.acceptMark("}") {
		if word := s.parseName(); word != "func" {
			s.recordError(`unexpected %q; want "func"`, word)
		}
		p.Functions = append(p.Functions, s.parseFunction())
	}
	if s.token != "" || s.quoted {
		s.recordError("unexpected %q after the end of the program", s.token)
	}
	return p
}

func (s *parser) parseFunction() Function {
	f := Function{Name: s.parseName()}
	if s.acceptMark("<") {
		f.Opset = s.parseName()
		s.expectMark(">")
	}
	s.expectMark("(")
	for !s.acceptMark(")") {
		t := s.parseType()
		f.Inputs = append(f.Inputs, Var{s.parseName(), t})
		if !s.acceptMark(",") && s.token != ")" {
			s.recordError(`unexpected %q after function input; want "," or ")"`, s.token)
		}
	}
	if s.acceptMark("[") {
		// Attributes of a function hold the ranges of its shapes, and those of an operation do not.
		s.function = &f
		s.parseAttributes()
		s.function = nil
	}
	s.expectMark("{")
	for !s.acceptMark("}") {
		f.Operations = append(f.Operations, s.parseOperation())
	}
	s.expectMark("->")
	s.expectMark("(")
	for !s.acceptMark(")") {
		f.Outputs = append(f.Outputs, s.parseName())
		if !s.acceptMark(",") && s.token != ")" {
			s.recordError(`unexpected %q after function output; want "," or ")"`, s.token)
		}
	}
	s.expectMark(";")
	return f
}

func (s *parser) parseOperation() Operation {
	if s.operations++; s.operations > maxOperations {
		s.recordError("program exceeds the limit of %d operations", maxOperations)
	}
	op := Operation{Off: int64(s.line)}
	for {
		t := s.parseType()
		// A statement without a result, such as write_state, starts with the operation. Its name
		// was read as that of an element type.
		if len(op.Outputs) == 0 && t.Elem != "" && t.Dims == nil && !s.quoted && s.token == "(" {
			op.Type = string(t.Elem)
			break
		}
		op.Outputs = append(op.Outputs, Var{s.parseName(), t})
		if s.acceptMark("=") {
			op.Type = s.parseName()
			break
		}
		s.expectMark(",")
	}
	s.expectMark("(")
	for !s.acceptMark(")") {
		if op.Inputs == nil {
			op.Inputs = map[string][]Argument{}
		}
		key := s.parseName()
		s.expectMark("=")
		if _, twice := op.Inputs[key]; twice {
			s.recordError("argument %q is given twice", key)
		}
		op.Inputs[key] = s.parseValues()
		if !s.acceptMark(",") && s.token != ")" {
			s.recordError(`unexpected %q after argument; want "," or ")"`, s.token)
		}
	}
	if s.acceptMark("[") {
		op.Attributes = s.parseAttributes()
	}
	s.expectMark(";")
	return op
}

// parseAttributes reads name = value pairs up to the closing bracket.
func (s *parser) parseAttributes() map[string]Value {
	m := map[string]Value{}
	for !s.acceptMark("]") {
		key := s.parseName()
		s.expectMark("=")
		s.flexible = s.function != nil && key == "FlexibleShapeInformation"
		if _, twice := m[key]; twice {
			s.recordError("attribute %q is given twice", key)
		}
		m[key] = s.parseArgument().Value // of a name, nothing: whoever reads the attribute finds no elements
		if !s.acceptMark(",") && s.token != "]" {
			s.recordError(`unexpected %q after attribute; want "," or "]"`, s.token)
		}
	}
	return m
}

// parseValues reads one argument, or several in parentheses.
func (s *parser) parseValues() []Argument {
	if !s.acceptMark("(") {
		return []Argument{s.parseArgument()}
	}
	var list []Argument
	for !s.acceptMark(")") {
		list = append(list, s.parseArgument())
		if !s.acceptMark(",") && s.token != ")" {
			s.recordError(`unexpected %q after value; want "," or ")"`, s.token)
		}
	}
	return list
}

func (s *parser) countNesting() {
	if s.depth++; s.depth > maxDepth {
		s.recordError("nesting of types and values exceeds the limit of %d levels", maxDepth)
	}
}

// parseType reads a type, such as tensor<fp16, [1, 3, 224, 224]>.
func (s *parser) parseType() Type {
	// Types nest without a bound in the grammar, and this function calls itself.
	s.countNesting()
	defer func() { s.depth-- }()
	var t Type
	switch name := s.parseName(); name {
	case "tensor":
		s.expectMark("<")
		t.Elem = Elem(s.parseName())
		s.expectMark(",")
		s.expectMark("[")
		t.Dims = []int64{}
		for !s.acceptMark("]") {
			n, err := strconv.ParseInt(s.token, 10, 64)
			if err != nil || n < 0 {
				n = -1 // a name or a question mark
			}
			s.nextToken()
			if t.Dims = append(t.Dims, n); len(t.Dims) > maxRank {
				s.recordError("tensor exceeds the limit of %d dimensions", maxRank)
			}
			if !s.acceptMark(",") && s.token != "]" {
				s.recordError(`unexpected %q after dimension; want "," or "]"`, s.token)
			}
		}
		s.expectMark(">")
	case "list", "tuple", "dict", "state":
		t.Kind = map[string]Kind{"list": List, "tuple": Tuple, "dict": Dictionary, "state": State}[name]
		s.expectMark("<")
		for !s.acceptMark(">") {
			if strings.IndexFunc(s.token, func(r rune) bool { return r < '0' || r > '9' }) < 0 && s.token != "" || s.token == "?" {
				s.nextToken() // a list's length
			} else if inner := s.parseType(); t.Kind == State {
				t.Elem, t.Dims = inner.Elem, inner.Dims
			}
			if !s.acceptMark(",") && s.token != ">" {
				s.recordError(`unexpected %q in type; want "," or ">"`, s.token)
			}
		}
	default:
		t.Elem = Elem(name)
	}
	return t
}

// parseArgument reads a name, a tuple, or a type with a value in parentheses.
func (s *parser) parseArgument() Argument {
	s.countNesting()
	defer func() { s.depth-- }()
	if s.arguments++; s.arguments > maxArguments {
		s.recordError("program exceeds the limit of %d arguments", maxArguments)
	}
	if s.acceptMark("(") {
		var v Value
		v.Type.Kind = Tuple
		for !s.acceptMark(")") {
			v.Values = append(v.Values, s.parseArgument().Value)
			if !s.acceptMark(",") && s.token != ")" {
				s.recordError(`unexpected %q in tuple; want "," or ")"`, s.token)
			}
		}
		return Argument{Value: v}
	}
	at, line := s.at, s.line
	name := s.parseName()
	if s.token != "(" && s.token != "<" || s.quoted {
		return Argument{Name: name}
	}
	// The name begins a type: read it again as one.
	s.at, s.line = at, line
	s.token, s.quoted = name, false
	t := s.parseType()
	return Argument{Value: s.parseLiteral(t)}
}

// parseLiteral reads the value in parentheses after type t.
func (s *parser) parseLiteral(t Type) Value {
	v := Value{Type: t}
	s.expectMark("(")
	switch {
	case s.token == "BLOBFILE" && !s.quoted:
		s.nextToken()
		s.expectMark("(")
		// 0 is a valid value of an offset, so its absence needs a flag.
		placed := false
		for !s.acceptMark(")") {
			key := s.parseName()
			s.expectMark("=")
			a := s.parseArgument()
			switch {
			case key == "path" && len(a.Value.Strings) == 1:
				v.File = a.Value.Strings[0]
			case key == "offset" && len(a.Value.Data) == 8:
				v.Offset, placed = binary.LittleEndian.Uint64(a.Value.Data), true
			default:
				s.recordError("unexpected %q in BLOBFILE; want a string path and a uint64 offset", key)
			}
			if !s.acceptMark(",") && s.token != ")" {
				s.recordError(`unexpected %q in BLOBFILE; want "," or ")"`, s.token)
			}
		}
		if v.File == "" {
			s.recordError(`BLOBFILE has no "path"`)
		}
		if !placed {
			s.recordError(`BLOBFILE has no "offset"`)
		}
	case t.Kind != Tensor && s.flexible:
		s.flexible = false
		s.function.Shapes = s.parseShapes()
		return v
	// Values of other types, such as dictionaries, are notes of the converter and no part of the network.
	case t.Kind != Tensor:
		s.skipValue()
		return v
	default:
		s.parseElements(&v)
	}
	s.expectMark(")")
	if n := t.Elements(); v.File == "" {
		switch bits := t.Elem.Bits(); {
		case t.Elem == "string" && len(v.Strings) != n:
			s.recordError("string count %d does not match shape %v", len(v.Strings), t.Dims)
		case bits > 0 && len(v.Data) != n*max(8, bits)/8:
			s.recordError("value count %d does not match shape %v", len(v.Data)/(max(8, bits)/8), t.Dims)
		}
	}
	return v
}

// skipValue skips an unsupported value, up to and including the closing parenthesis.
func (s *parser) skipValue() {
	for depth := 1; depth > 0; s.nextToken() {
		switch {
		case s.token == "" && !s.quoted:
			s.recordError(`unexpected end of file in value; want ")"`)
		case s.quoted:
		case s.token == "(":
			depth++
		case s.token == ")":
			depth--
		}
	}
}

// parseElements reads numbers, words and strings, nested in any number of brackets.
func (s *parser) parseElements(v *Value) {
	for depth := 0; ; {
		switch {
		case s.token == "" && !s.quoted:
			s.recordError(`unexpected end of file in value; want ")"`)
		case s.acceptMark("["):
			depth++
		case s.acceptMark("]"):
			depth--
		case s.acceptMark(","):
		case !s.quoted && s.token == ")":
			if depth != 0 {
				s.recordError("unbalanced brackets in value")
			}
			return
		default:
			s.parseElement(v)
			s.nextToken()
		}
	}
}

func (s *parser) parseElement(v *Value) {
	le, t := binary.LittleEndian, s.token
	switch e := v.Type.Elem; e {
	case "string":
		if !s.quoted {
			s.recordError("unexpected %q; want a quoted string", t)
		}
		v.Strings = append(v.Strings, t)
	case "bool":
		switch t {
		case "true", "1":
			v.Data = append(v.Data, 1)
		case "false", "0":
			v.Data = append(v.Data, 0)
		default:
			s.recordError("invalid bool value %q; want true or false", t)
		}
	case "fp16", "fp32", "fp64", "bf16":
		// A number beyond the range of the type is an infinity, not an error.
		x, err := strconv.ParseFloat(t, 64)
		if err != nil && !math.IsInf(x, 0) {
			s.recordError("invalid number %q", t)
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
			s.recordError("unsupported element type %q", string(e))
		}
		i, err := strconv.ParseInt(t, 0, 64)
		// uint64 has values that an int64 has not; their bits are the same.
		if u, e := strconv.ParseUint(t, 0, 64); err != nil && e == nil {
			i, err = int64(u), nil
		}
		if err != nil {
			s.recordError("invalid integer %q", t)
		}
		for n := max(8, e.Bits()); n > 0; n -= 8 {
			v.Data = append(v.Data, byte(i))
			i >>= 8
		}
	}
}

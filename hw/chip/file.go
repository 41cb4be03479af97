package chip

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/hw/spelling"
)

// An Error is a mistake in a chip or a chip file: the constant it is about, and the line of
// the file.
type Error struct {
	Line     int // 0 without a file, and where the constant is missing
	Constant string
	What     string
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	if e.Constant != "" {
		fmt.Fprintf(&b, "%s: ", e.Constant)
	}
	b.WriteString(e.What)
	return b.String()
}

// maxBytes bounds a chip file: the presets take 8 KiB.
const maxBytes = 1 << 20

// fileConstant is a constant as a chip file has it.
type fileConstant struct {
	Value    float64       `yaml:"value"`
	Unit     string        `yaml:"unit"`
	Evidence evidence.Kind `yaml:"evidence"`
	Source   string        `yaml:"source"`
}

// Write writes a chip as a YAML file that Read reads: every constant with its
// unit, its evidence and source, and the bounds that a value must keep in a comment.
func Write(w io.Writer, c *hw.Chip) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	text := func(v string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: v, Tag: "!!str"} }
	root.Content = append(root.Content, text("name"), text(c.Name))
	constants := &yaml.Node{Kind: yaml.MappingNode}
	for name, k := range c.Constants() {
		var v yaml.Node
		if err := v.Encode(fileConstant(k)); err != nil {
			return err
		}
		key := text(name)
		key.HeadComment = find(name).comment()
		constants.Content = append(constants.Content, key, &v)
	}
	root.Content = append(root.Content, text("constants"), constants)
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(root); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// Read reads a chip file. Every constant must be there, in its own unit and within its
// bounds; a value that differs from the preset of the file's name without saying so keeps
// the evidence that the file gives it. Errors are a *Error, or the reader's.
func Read(r io.Reader) (hw.Chip, error) {
	var none hw.Chip
	b, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return none, err
	}
	if len(b) > maxBytes {
		return none, &Error{What: fmt.Sprintf("more than %d bytes", maxBytes)}
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&doc); err != nil && err != io.EOF {
		return none, &Error{What: strings.TrimPrefix(firstLine(err.Error()), "yaml: ")}
	}
	if err := d.Decode(new(yaml.Node)); err != io.EOF {
		return none, &Error{What: "a second document; a file has one chip"}
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return none, &Error{What: "a chip file has the keys name and constants"}
	}
	var c hw.Chip
	var list *yaml.Node
	for key, v := range pairs(doc.Content[0]) {
		switch key.Value {
		case "name":
			if v.Kind != yaml.ScalarNode || v.Value == "" || len(v.Value) > 64 {
				return none, &Error{Line: v.Line, What: "name requires a word"}
			}
			c.Name = v.Value
		case "constants":
			list = v
		default:
			return none, &Error{Line: key.Line, What: fmt.Sprintf("unknown key %q: a chip file has name and constants", key.Value)}
		}
	}
	if c.Name == "" {
		return none, &Error{What: "the name is missing"}
	}
	if list == nil || list.Kind != yaml.MappingNode {
		return none, &Error{What: "the constants are missing"}
	}
	if err := readConstants(&c, list); err != nil {
		return none, err
	}
	return c, nil
}

// readConstants fills in every constant of a chip.
func readConstants(c *hw.Chip, list *yaml.Node) error {
	seen := map[string]bool{}
	for key, v := range pairs(list) {
		name := key.Value
		fail := func(line int, format string, args ...any) error {
			return &Error{line, name, fmt.Sprintf(format, args...)}
		}
		p := find(name)
		if p == nil {
			if near := spelling.Nearest(name, names()); len(near) > 0 {
				return fail(key.Line, "no such constant%s", spelling.Hint(near))
			}
			return fail(key.Line, "no such constant; a chip has %s", strings.Join(names(), ", "))
		}
		if seen[name] {
			return fail(key.Line, "given twice")
		}
		seen[name] = true
		var k fileConstant
		if err := readConstant(&k, v, fail); err != nil {
			return err
		}
		what := p.refuse(k.Value)
		switch {
		case k.Unit != p.unit:
			return fail(v.Line, "unit %q, want %q", k.Unit, p.unit)
		case what != "":
			return fail(v.Line, "%s", what)
		case !slices.Contains(kinds[:], k.Evidence):
			return fail(v.Line, "evidence %q is none of %v", k.Evidence, kinds)
		case k.Source == "":
			return fail(v.Line, "the source is missing")
		}
		*field(c, name) = evidence.Constant(k)
	}
	for _, name := range names() {
		if !seen[name] {
			return &Error{Constant: name, What: "missing"}
		}
	}
	return nil
}

// constantKeys are the keys that a constant has.
var constantKeys = []string{"value", "unit", "evidence", "source"}

// readConstant reads what a chip file says of a constant: each key once and no other.
func readConstant(k *fileConstant, v *yaml.Node, fail func(line int, format string, args ...any) error) error {
	if v.Kind != yaml.MappingNode {
		return fail(v.Line, "want value, unit, evidence and source")
	}
	seen := map[string]bool{}
	for key, item := range pairs(v) {
		switch {
		case !slices.Contains(constantKeys, key.Value):
			return fail(key.Line, "unknown key %q%s", key.Value, spelling.Suggest(key.Value, constantKeys))
		case seen[key.Value]:
			return fail(key.Line, "%s is given twice", key.Value)
		case key.Value == "value" && item.Decode(new(float64)) != nil:
			return fail(item.Line, "value %q is not a number", item.Value)
		}
		seen[key.Value] = true
	}
	for _, key := range constantKeys {
		if !seen[key] {
			return fail(v.Line, "the %s is missing", key)
		}
	}
	if err := v.Decode(k); err != nil {
		return fail(v.Line, "want value, unit, evidence and source")
	}
	return nil
}

var kinds = [...]evidence.Kind{evidence.Measured, evidence.Bytes, evidence.Decompiled, evidence.Fitted, evidence.Inferred, evidence.Assumed}

// pairs yields the keys and values of a mapping.
func pairs(m *yaml.Node) func(func(k, v *yaml.Node) bool) {
	return func(yield func(k, v *yaml.Node) bool) {
		for i := 0; i+1 < len(m.Content); i += 2 {
			if !yield(m.Content[i], m.Content[i+1]) {
				return
			}
		}
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

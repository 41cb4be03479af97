package anesim

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"anesim/hw"
	"anesim/hw/evidence"
	"anesim/hw/spelling"
)

// A ChipError is a chip file that describes no machine: the constant it is about, and the
// line where the file has one.
type ChipError struct {
	Line     int // 0 where the constant is missing
	Constant string
	What     string
}

func (e *ChipError) Error() string {
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

// maxChipBytes bounds a chip file: the presets take 8 KiB.
const maxChipBytes = 1 << 20

// chipConstant is a constant as a chip file has it.
type chipConstant struct {
	Value    float64       `yaml:"value"`
	Unit     string        `yaml:"unit"`
	Evidence evidence.Kind `yaml:"evidence"`
	Source   string        `yaml:"source"`
}

// WriteChip writes a chip as a YAML file that ReadChip reads: every constant with its
// unit, its evidence and source, and the bounds that a value must keep in a comment.
func WriteChip(w io.Writer, c *hw.Chip) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	text := func(v string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: v, Tag: "!!str"} }
	root.Content = append(root.Content, text("name"), text(c.Name))
	constants := &yaml.Node{Kind: yaml.MappingNode}
	for name, k := range c.Constants() {
		var v yaml.Node
		if err := v.Encode(chipConstant(k)); err != nil {
			return err
		}
		key := text(name)
		if rule, ok := ruleOf(name); ok {
			key.HeadComment = rule.comment()
		}
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

// ReadChip reads a chip file. Every constant must be there, in its own unit and within its
// bounds; a value that differs from the preset of the file's name without saying so keeps
// the evidence that the file gives it. Errors are a *ChipError, or the reader's.
func ReadChip(r io.Reader) (hw.Chip, error) {
	var none hw.Chip
	b, err := io.ReadAll(io.LimitReader(r, maxChipBytes+1))
	if err != nil {
		return none, err
	}
	if len(b) > maxChipBytes {
		return none, &ChipError{What: fmt.Sprintf("more than %d bytes", maxChipBytes)}
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&doc); err != nil && err != io.EOF {
		return none, &ChipError{What: strings.TrimPrefix(firstLine(err.Error()), "yaml: ")}
	}
	if err := d.Decode(new(yaml.Node)); err != io.EOF {
		return none, &ChipError{What: "a second document; a file has one chip"}
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return none, &ChipError{What: "a chip file has the keys name and constants"}
	}
	var c hw.Chip
	var list *yaml.Node
	for key, v := range pairs(doc.Content[0]) {
		switch key.Value {
		case "name":
			if v.Kind != yaml.ScalarNode || v.Value == "" || len(v.Value) > 64 {
				return none, &ChipError{Line: v.Line, What: "name requires a word"}
			}
			c.Name = v.Value
		case "constants":
			list = v
		default:
			return none, &ChipError{Line: key.Line, What: fmt.Sprintf("unknown key %q: a chip file has name and constants", key.Value)}
		}
	}
	if c.Name == "" {
		return none, &ChipError{What: "the name is missing"}
	}
	if list == nil || list.Kind != yaml.MappingNode {
		return none, &ChipError{What: "the constants are missing"}
	}
	if err := readConstants(&c, list); err != nil {
		return none, err
	}
	return c, nil
}

// SetConstant gives a constant of a chip another value, which becomes an assumption.
// The error is a *ChipError.
func SetConstant(c *hw.Chip, name string, value float64) error {
	field := reflect.ValueOf(c).Elem().FieldByName(name)
	k, ok := evidence.Constant{}, false
	if field.IsValid() {
		k, ok = field.Interface().(evidence.Constant)
	}
	if !ok {
		var names []string
		for name := range c.Constants() {
			names = append(names, name)
		}
		return &ChipError{Constant: name, What: "no such constant" + spelling.Suggest(name, names)}
	}
	rule, _ := ruleOf(name)
	if what := rule.refuse(value, k); what != "" {
		return &ChipError{Constant: name, What: what}
	}
	if value != k.Value {
		k.Value, k.Evidence, k.Source = value, evidence.Assumed, "given"
	}
	field.Set(reflect.ValueOf(k))
	return nil
}

// readConstants fills in every constant of a chip.
func readConstants(c *hw.Chip, list *yaml.Node) error {
	model := hw.M1() // its constants have the units
	into := reflect.ValueOf(c).Elem()
	var names []string
	units := map[string]string{}
	for name, k := range model.Constants() {
		names = append(names, name)
		units[name] = k.Unit
	}
	seen := map[string]bool{}
	for key, v := range pairs(list) {
		name := key.Value
		fail := func(line int, format string, args ...any) error {
			return &ChipError{line, name, fmt.Sprintf(format, args...)}
		}
		unit, known := units[name]
		if !known {
			if near := spelling.Nearest(name, names); len(near) > 0 {
				return fail(key.Line, "no such constant%s", spelling.Hint(near))
			}
			return fail(key.Line, "no such constant; a chip has %s", strings.Join(names, ", "))
		}
		if seen[name] {
			return fail(key.Line, "given twice")
		}
		seen[name] = true
		var k chipConstant
		if err := readConstant(&k, v, fail); err != nil {
			return err
		}
		rule, _ := ruleOf(name)
		what := rule.refuse(k.Value, evidence.Constant(k))
		switch {
		case k.Unit != unit:
			return fail(v.Line, "unit %q, want %q", k.Unit, unit)
		case what != "":
			return fail(v.Line, "%s", what)
		case !slices.Contains(kinds[:], k.Evidence):
			return fail(v.Line, "evidence %q is none of %v", k.Evidence, kinds)
		case k.Source == "":
			return fail(v.Line, "the source is missing")
		}
		into.FieldByName(name).Set(reflect.ValueOf(evidence.Constant(k)))
	}
	for _, name := range names {
		if !seen[name] {
			return &ChipError{Constant: name, What: "missing"}
		}
	}
	return nil
}

// constantKeys are the keys that a constant has.
var constantKeys = []string{"value", "unit", "evidence", "source"}

// readConstant reads what a chip file says of a constant: each key once and no other.
func readConstant(k *chipConstant, v *yaml.Node, fail func(line int, format string, args ...any) error) error {
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

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
	"anesim/hw/execycles"
	"anesim/internal/spelling"
)

// An Error reports a constant that is unknown, missing or out of range. For a chip file it gives
// the line.
type Error struct {
	Line     int // 0 if there is no file or the constant is missing
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

// maxBytes is the largest size of a chip file. The presets take 8 KiB.
const maxBytes = 1 << 20

// fileConstant is a constant as it appears in a chip file.
type fileConstant struct {
	Value    float64       `yaml:"value"`
	Unit     string        `yaml:"unit"`
	Evidence evidence.Kind `yaml:"evidence"`
	Source   string        `yaml:"source"`
}

// Write writes c to w as a YAML file that [Read] accepts. Each constant has its unit, its evidence
// and source, and a comment with the permitted range.
func Write(w io.Writer, c *hw.Chip) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	text := func(v string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: v, Tag: "!!str"} }
	root.Content = append(root.Content, text("name"), text(c.Name), text("target"), text(c.Target.String()))
	constants := &yaml.Node{Kind: yaml.MappingNode}
	for name, k := range c.Constants() {
		var v yaml.Node
		if err := v.Encode(fileConstant(k)); err != nil {
			return err
		}
		key := text(name)
		key.HeadComment = findParameter(name).describe()
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

// Read reads a chip from a YAML file. The file must set every constant, in that constant's unit and
// within its range, and the target. The evidence of a constant is taken from the file, even if its value
// differs from the preset of the same name. Read returns an *[Error] for an invalid file, or the error of
// r.
func Read(r io.Reader) (hw.Chip, error) {
	var none hw.Chip
	// One byte beyond the limit tells a file that is too long from one that just fits.
	b, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return none, err
	}
	if len(b) > maxBytes {
		return none, &Error{What: fmt.Sprintf("chip file exceeds %d bytes", maxBytes)}
	}
	var doc yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&doc); err != nil && err != io.EOF {
		return none, &Error{What: strings.TrimPrefix(firstLine(err.Error()), "yaml: ")}
	}
	// A decoder stops after the first document: without this check, a second chip in the file would be
	// ignored silently.
	if err := d.Decode(new(yaml.Node)); err != io.EOF {
		return none, &Error{What: "unexpected second YAML document; want one chip per file"}
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return none, &Error{What: "malformed chip file; want a mapping with the keys \"name\" and \"constants\""}
	}
	var c hw.Chip
	var list *yaml.Node
	for key, v := range mappingPairs(doc.Content[0]) {
		switch key.Value {
		case "name":
			if v.Kind != yaml.ScalarNode || v.Value == "" || len(v.Value) > 64 {
				return none, &Error{Line: v.Line, What: "invalid name; want a string of 1 to 64 bytes"}
			}
			c.Name = v.Value
		case "target":
			var err error
			if c.Target, err = execycles.ParseTarget(v.Value); err != nil {
				return none, &Error{Line: v.Line, What: err.Error()}
			}
		case "constants":
			list = v
		default:
			return none, &Error{Line: key.Line, What: fmt.Sprintf("unknown key %q; want name, target or constants", key.Value)}
		}
	}
	if c.Name == "" {
		return none, &Error{What: "missing key \"name\""}
	}
	if c.Target == 0 {
		return none, &Error{What: "missing key \"target\"; want the target of Apple's compiler for this chip, h13 or h13g"}
	}
	if list == nil || list.Kind != yaml.MappingNode {
		return none, &Error{What: "key \"constants\" is missing or not a mapping"}
	}
	if err := readConstants(&c, list); err != nil {
		return none, err
	}
	return c, nil
}

// readConstants sets every constant of c from list, a YAML mapping of names to constants. It
// returns an *[Error] if a constant is unknown, missing, given twice or out of range.
func readConstants(c *hw.Chip, list *yaml.Node) error {
	seen := map[string]bool{}
	for key, v := range mappingPairs(list) {
		name := key.Value
		fail := func(line int, format string, args ...any) error {
			return &Error{line, name, fmt.Sprintf(format, args...)}
		}
		p := findParameter(name)
		if p == nil {
			if near := spelling.Nearest(name, parameterNames()); len(near) > 0 {
				return fail(key.Line, "unknown constant%s", spelling.Hint(near))
			}
			return fail(key.Line, "unknown constant; want one of %s", strings.Join(parameterNames(), ", "))
		}
		if seen[name] {
			return fail(key.Line, "duplicate constant")
		}
		seen[name] = true
		var k fileConstant
		if err := readConstant(&k, v, fail); err != nil {
			return err
		}
		// The unit is compared before the range: a value in another unit is mostly out of range too, and
		// that message would hide the cause.
		what := p.describeViolation(k.Value)
		switch {
		case k.Unit != p.unit:
			return fail(v.Line, "unit is %q; want %q", k.Unit, p.unit)
		case what != "":
			return fail(v.Line, "%s", what)
		case !slices.Contains(kinds[:], k.Evidence):
			return fail(v.Line, "unknown evidence %q; want one of %q", k.Evidence, kinds)
		case k.Source == "":
			return fail(v.Line, "source is empty; want the origin of the value")
		}
		*findConstant(c, name) = evidence.Constant(k)
	}
	// No constant has a default. One that came from a preset would carry the evidence of another chip.
	for _, name := range parameterNames() {
		if !seen[name] {
			return &Error{Constant: name, What: "missing constant; anesim chip NAME prints all constants of a preset"}
		}
	}
	return nil
}

// constantKeys lists the keys of a constant in a chip file.
var constantKeys = []string{"value", "unit", "evidence", "source"}

// readConstant sets k from v, the YAML mapping of one constant. The mapping must contain each key
// exactly once. It creates its errors with fail.
func readConstant(k *fileConstant, v *yaml.Node, fail func(line int, format string, args ...any) error) error {
	if v.Kind != yaml.MappingNode {
		return fail(v.Line, "malformed constant; want a mapping with the keys %q", constantKeys)
	}
	seen := map[string]bool{}
	for key, item := range mappingPairs(v) {
		switch {
		case !slices.Contains(constantKeys, key.Value):
			return fail(key.Line, "unknown key %q%s", key.Value, spelling.Suggest(key.Value, constantKeys))
		case seen[key.Value]:
			return fail(key.Line, "duplicate key %q", key.Value)
		case key.Value == "value" && item.Decode(new(float64)) != nil:
			return fail(item.Line, "value %q is not a number", item.Value)
		}
		seen[key.Value] = true
	}
	for _, key := range constantKeys {
		if !seen[key] {
			return fail(v.Line, "missing key %q", key)
		}
	}
	if err := v.Decode(k); err != nil {
		return fail(v.Line, "malformed constant; want a mapping with the keys %q", constantKeys)
	}
	return nil
}

var kinds = [...]evidence.Kind{evidence.Measured, evidence.Bytes, evidence.Decompiled, evidence.Fitted, evidence.Inferred, evidence.Assumed}

// mappingPairs returns an iterator over the keys and values of the YAML mapping m.
func mappingPairs(m *yaml.Node) func(func(k, v *yaml.Node) bool) {
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

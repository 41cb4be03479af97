package dump

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"anesim/bench/report"
	"anesim/loader/e5"
	"anesim/tools/anesim/internal/terminal"
)

// A dispatchDumper prints a dispatch descriptor: what the runtime does, in order, and
// which container holds the engine's part.
type dispatchDumper struct {
	w          io.Writer
	p          *e5.Program
	containers map[string]string // file names by hash
}

// Containers looks for the containers that a dispatch descriptor names beside its file, and
// returns their names by hash. Standard input has nothing beside it.
func Containers(file string, p *e5.Program) (map[string]string, error) {
	if file == "-" {
		return nil, nil
	}
	return p.Find(os.DirFS(filepath.Dir(file)))
}

// WriteDispatch prints the dispatch descriptor in a file.
func WriteDispatch(w io.Writer, file string, p *e5.Program, containers map[string]string, o Options) error {
	d := &dispatchDumper{w, p, containers}
	if o.JSON {
		return d.writeJSON()
	}
	return d.writeText(filepath.Base(file))
}

func (d *dispatchDumper) writeText(name string) error {
	p := d.p
	fmt.Fprintf(d.w, "%s: dispatch descriptor, format version %d, %s, %s\n\nbuild\n", legible(name), p.Version,
		report.Plural(len(p.Symbols), "symbol"), report.Plural(len(p.Sections), "section"))
	var build, chain terminal.Table
	for _, e := range p.Build {
		build.Add(legible(e.Key), legible(e.Value))
	}
	if err := build.Print(d.w, terminal.Gap); err != nil {
		return err
	}
	fmt.Fprintf(d.w, "\nchain\n")
	if len(p.Chain()) == 0 {
		_, err := fmt.Fprintf(d.w, "  not reachable: sections have no bytes, as in the documents' schema\n")
		return err
	}
	for i := range p.Sections {
		s := &p.Sections[i]
		switch {
		case s.Operation != nil:
			o := s.Operation
			chain.Add(legible(o.Name), o.Type.String(), d.operands(s.Operands, o.Inputs, 0)+" to "+d.operands(s.Operands, o.Outputs, len(o.Inputs)))
		case s.Inference != nil:
			a := s.Inference
			chain.Add("", "", fmt.Sprintf("procedure %s of %s", legible(a.Procedure), d.container(a)))
		case s.Cast != nil:
			chain.Add("", "", fmt.Sprintf("%v to %v", s.Cast.From, s.Cast.To))
		}
	}
	return chain.Print(d.w, terminal.Gap)
}

// container names the container of an inference.
func (d *dispatchDumper) container(a *e5.Inference) string {
	if name := d.containers[strings.ToUpper(a.Hash)]; name != "" {
		return legible(name)
	}
	return fmt.Sprintf("the container with SHA-256 %s, which is not beside this file", legible(cmp.Or(a.Hash, "of no digits")))
}

// operands names an operation's tensors with their shapes; first is the place of the first
// among the operation's operands.
func (d *dispatchDumper) operands(tensors []e5.Tensor, indices []uint32, first int) string {
	var names []string
	for i, s := range indices {
		name := d.symbol(s)
		if at := first + i; at < len(tensors) {
			t := &tensors[at]
			name += fmt.Sprintf(" %dx%dx%dx%d", t.Batch, t.Channels, t.Height, t.Width)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func (d *dispatchDumper) symbol(i uint32) string {
	if uint64(i) < uint64(len(d.p.Symbols)) {
		return legible(d.p.Symbols[i])
	}
	return fmt.Sprintf("symbol %d", i)
}

type Dispatch struct {
	report.Header
	Form       string          `json:"form"`
	Version    int32           `json:"format_version"`
	Build      Object          `json:"build"`
	Symbols    []string        `json:"symbols"`
	Operations []jsonOperation `json:"operations"`
}

type jsonOperation struct {
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Inputs    []jsonOperand  `json:"inputs"`
	Outputs   []jsonOperand  `json:"outputs"`
	Cast      *jsonCast      `json:"cast,omitempty"`
	Inference *jsonInference `json:"inference,omitempty"`
}

type jsonOperand struct {
	Name    string    `json:"name"`
	Shape   [4]uint64 `json:"shape"`
	Strides [4]uint64 `json:"strides"`
	Type    string    `json:"type"`
}

type jsonCast struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type jsonInference struct {
	Procedure string `json:"procedure"`
	Hash      string `json:"hash"`
	Container string `json:"container,omitempty"`
	Symbol    string `json:"symbol"`
	Options   string `json:"options"`
}

func (d *dispatchDumper) writeJSON() error {
	p := d.p
	out := Dispatch{
		Header: report.NewHeader(), Form: "dispatch", Version: p.Version, Build: Object{},
		Symbols: append([]string{}, p.Symbols...), Operations: []jsonOperation{},
	}
	for _, e := range p.Build {
		out.Build.add(e.Key, e.Value)
	}
	for i := range p.Sections {
		s := &p.Sections[i]
		if o := s.Operation; o != nil {
			out.Operations = append(out.Operations, jsonOperation{
				Name: o.Name, Type: o.Type.String(),
				Inputs: d.jsonOperands(s.Operands, o.Inputs, 0), Outputs: d.jsonOperands(s.Operands, o.Outputs, len(o.Inputs)),
			})
		}
		if len(out.Operations) == 0 {
			continue
		}
		last := &out.Operations[len(out.Operations)-1]
		if c := s.Cast; c != nil {
			last.Cast = &jsonCast{c.From.String(), c.To.String()}
		}
		if a := s.Inference; a != nil {
			last.Inference = &jsonInference{a.Procedure, a.Hash, d.containers[strings.ToUpper(a.Hash)], a.Symbol, a.Options}
		}
	}
	e := json.NewEncoder(d.w)
	e.SetIndent("", " ")
	return e.Encode(&out)
}

func (d *dispatchDumper) jsonOperands(tensors []e5.Tensor, indices []uint32, first int) []jsonOperand {
	out := []jsonOperand{}
	for i, s := range indices {
		o := jsonOperand{Name: d.symbol(s)}
		if at := first + i; at < len(tensors) {
			t := &tensors[at]
			o.Shape = [4]uint64{t.Batch, t.Channels, t.Height, t.Width}
			o.Strides = [4]uint64{t.StrideBatch, t.StrideChannels, t.StrideHeight, t.StrideWidth}
			o.Type = t.Type.String()
		}
		out = append(out, o)
	}
	return out
}

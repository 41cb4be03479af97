package dump

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"anesim/internal/report"
	"anesim/loader/e5"
	"anesim/tools/anesim/internal/terminal"
)

// A dispatchDumper prints a dispatch descriptor: the operations that the vendor's runtime performs,
// and the name of the container with the engine's part.
type dispatchDumper struct {
	w          io.Writer
	p          *e5.Program
	containers map[string]string // file names by hash
}

// Containers searches the directory of the named file for the containers to which the dispatch
// descriptor p refers. It returns the names of the files that it finds, keyed by the hash of the
// container. If file is "-", which means standard input, it returns nil.
func Containers(file string, p *e5.Program) (map[string]string, error) {
	if file == "-" {
		return nil, nil
	}
	return p.Find(os.DirFS(filepath.Dir(file)))
}

// WriteDispatch prints the dispatch descriptor p from the named file. A dispatch descriptor lists
// the operations that the vendor's runtime performs, one of which calls the engine. The argument
// containers is the result of [Containers].
func WriteDispatch(w io.Writer, file string, p *e5.Program, containers map[string]string, o Options) error {
	d := &dispatchDumper{w, p, containers}
	if o.JSON {
		return d.writeDispatchJSON()
	}
	return d.writeDispatchText(filepath.Base(file))
}

func (d *dispatchDumper) writeDispatchText(name string) error {
	p := d.p
	fmt.Fprintf(d.w, "%s: dispatch descriptor, format version %d, %s, %s\n\nbuild\n", quoteName(name), p.Version,
		report.Plural(len(p.Symbols), "symbol"), report.Plural(len(p.Sections), "section"))
	var build, chain terminal.Table
	for _, e := range p.Build {
		build.Add(quoteName(e.Key), quoteName(e.Value))
	}
	if err := build.Print(d.w, terminal.Gap); err != nil {
		return err
	}
	fmt.Fprintf(d.w, "\nchain\n")
	if len(p.Chain()) == 0 {
		_, err := fmt.Fprintf(d.w, "  not available: sections have no bytes, as in the documents' schema\n")
		return err
	}
	// A section of attributes says more of the operation before it, so it gets a row below. Attributes that
	// are neither a call nor a cast are bytes whose meaning is not known, and have none.
	for i := range p.Sections {
		s := &p.Sections[i]
		switch {
		case s.Operation != nil:
			o := s.Operation
			chain.Add(quoteName(o.Name), o.Type.String(), d.formatOperands(s.Operands, o.Inputs, 0)+" to "+d.formatOperands(s.Operands, o.Outputs, len(o.Inputs)))
		case s.Inference != nil:
			a := s.Inference
			chain.Add("", "", fmt.Sprintf("procedure %s of %s", quoteName(a.Procedure), d.containerName(a)))
		case s.Cast != nil:
			chain.Add("", "", fmt.Sprintf("%v to %v", s.Cast.From, s.Cast.To))
		}
	}
	return chain.Print(d.w, terminal.Gap)
}

// containerName returns the name of the container file that an inference runs. If no file was
// found, it returns a phrase with the hash of the container.
func (d *dispatchDumper) containerName(a *e5.Inference) string {
	if name := d.containers[strings.ToUpper(a.Hash)]; name != "" {
		return quoteName(name)
	}
	return fmt.Sprintf("the container with double SHA-256 %s, which is not in this file's directory", quoteName(cmp.Or(a.Hash, "missing")))
}

// formatOperands returns text with the names of the symbols at the given indices, each followed by
// the shape of its tensor. The tensor of the first symbol is tensors[first].
func (d *dispatchDumper) formatOperands(tensors []e5.Tensor, indices []uint32, first int) string {
	var names []string
	for i, s := range indices {
		name := d.symbolName(s)
		if at := first + i; at < len(tensors) {
			t := &tensors[at]
			name += fmt.Sprintf(" %dx%dx%dx%d", t.Batch, t.Channels, t.Height, t.Width)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

func (d *dispatchDumper) symbolName(i uint32) string {
	if uint64(i) < uint64(len(d.p.Symbols)) {
		return quoteName(d.p.Symbols[i])
	}
	return fmt.Sprintf("symbol %d", i)
}

// A Dispatch is the JSON report of a dispatch descriptor.
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

func (d *dispatchDumper) writeDispatchJSON() error {
	p := d.p
	out := Dispatch{
		Header: report.NewHeader(), Form: "dispatch", Version: p.Version, Build: Object{},
		Symbols: append([]string{}, p.Symbols...), Operations: []jsonOperation{},
	}
	for _, e := range p.Build {
		out.Build.addMember(e.Key, e.Value)
	}
	for i := range p.Sections {
		s := &p.Sections[i]
		if o := s.Operation; o != nil {
			out.Operations = append(out.Operations, jsonOperation{
				Name: o.Name, Type: o.Type.String(),
				Inputs: d.toOperands(s.Operands, o.Inputs, 0), Outputs: d.toOperands(s.Operands, o.Outputs, len(o.Inputs)),
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
	return report.WriteDocument(d.w, &out)
}

func (d *dispatchDumper) toOperands(tensors []e5.Tensor, indices []uint32, first int) []jsonOperand {
	out := []jsonOperand{}
	for i, s := range indices {
		o := jsonOperand{Name: d.symbolName(s)}
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

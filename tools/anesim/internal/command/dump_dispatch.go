package command

import (
	"fmt"
	"io"
	"strings"

	"anesim/loader/e5"
)

// dumpDispatch prints a dispatch descriptor: what the runtime does, in order, and which
// container holds the engine's part.
func dumpDispatch(w io.Writer, name string, p *e5.Program) error {
	fmt.Fprintf(w, "%s: dispatch descriptor, format version %d, %s, %s\n\nbuild\n", legible(name), p.Version,
		plural(len(p.Symbols), "symbol"), plural(len(p.Sections), "section"))
	var rows []string
	for _, e := range p.Build {
		rows = append(rows, "  "+legible(e.Key)+"\t"+legible(e.Value))
	}
	if err := aligned(w, rows); err != nil {
		return err
	}
	fmt.Fprintf(w, "\nchain\n")
	if len(p.Chain()) == 0 {
		_, err := fmt.Fprintf(w, "  not reachable: sections have no bytes, as in the documents' schema\n")
		return err
	}
	rows = rows[:0]
	for i := range p.Sections {
		s := &p.Sections[i]
		switch {
		case s.Operation != nil:
			o := s.Operation
			rows = append(rows, fmt.Sprintf("  %s\t%v\t%s to %s", legible(o.Name), o.Type, symbols(p, o.Inputs), symbols(p, o.Outputs)))
		case s.Inference != nil:
			a := s.Inference
			rows = append(rows, fmt.Sprintf("\t\tprocedure %s of the container with SHA-256 %s", legible(a.Procedure), legible(a.Hash)))
		case s.Cast != nil:
			rows = append(rows, fmt.Sprintf("\t\t%v to %v", s.Cast.From, s.Cast.To))
		}
	}
	return aligned(w, rows)
}

// symbols names an operation's tensors.
func symbols(p *e5.Program, indices []uint32) string {
	var names []string
	for _, i := range indices {
		if uint64(i) < uint64(len(p.Symbols)) {
			names = append(names, legible(p.Symbols[i]))
		} else {
			names = append(names, fmt.Sprintf("symbol %d", i))
		}
	}
	return strings.Join(names, ", ")
}

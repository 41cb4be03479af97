package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/internal/lint"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

// lintFlags holds the flags of lint.
type lintFlags struct {
	flags.Dims
	layers   []string
	inMemory bool
	json     bool
}

func lintCommand() *cobra.Command {
	var f lintFlags
	c := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Find mistakes in programs that the engine does not report",
		Long: `Lint reads compiled programs, descriptor text (.td), networks and layers, which it
compiles, and checks their descriptors. It reports findings by descriptor, with
the register to look at:
` + listRules() + `Each rule is based on what the programs of Apple's compiler do; every
finding states its evidence, and no cost depends on a finding. Layers of a network
that cannot be compiled are named, since nothing checks them. The exit status is
0 without findings, and 1 with any or if no layer of a network could be compiled.`,
		Example: `  anesim lint model.hwx
  anesim lint chain.td net.onnx --json
  anesim lint --layer "softmax c=64 h=8 w=8"`,
		ValidArgsFunction: flags.CompleteNetwork,
		RunE:              f.run,
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringArrayVar(&f.layers, "layer", nil, "lint a layer, `\"OP key=value...\"`; repeatable")
	f.Dims.Register(s)
	s.BoolVar(&f.inMemory, "in-memory", false, "send tensors between layers to memory and back")
	s.BoolVar(&f.json, "json", false, "print the findings as JSON (docs/json.md)")
	return c
}

// listRules returns text with a line for each rule of lint and the mistake that the rule reports.
func listRules() string {
	var b strings.Builder
	for _, r := range lint.Rules {
		wrapLine(&b, fmt.Sprintf("  %-11s%s", r.Rule, r.Mistake), 13, 80)
	}
	return b.String()
}

// jsonLint is the document that lint --json prints.
type jsonLint struct {
	report.Header
	Programs []jsonLintedProgram `json:"programs"`
}

// A jsonLintedProgram is a program with its findings.
type jsonLintedProgram struct {
	Input       string         `json:"input"`
	Program     int            `json:"program"` // index among the programs of the input
	Descriptors int            `json:"descriptors"`
	Findings    []lint.Finding `json:"findings"`
	More        int            `json:"more"`
	Undecided   int            `json:"undecided"`

	// NotModelled lists the layers of the network that are in none of its programs.
	NotModelled []report.Missing `json:"not_modelled,omitempty"`
}

// name returns the input's name, followed by the index of the program if the input has several.
func (x *jsonLintedProgram) name() string {
	if x.Program == 0 {
		return x.Input
	}
	return fmt.Sprintf("%s, program %d", x.Input, x.Program)
}

func (f *lintFlags) run(c *cobra.Command, files []string) error {
	if len(files)+len(f.layers) == 0 {
		return usage.Errorf("missing models; want programs, networks, or layers with --layer")
	}
	ctx, stop := interrupt.Context()
	defer stop()
	doc := jsonLint{Header: report.NewHeader(), Programs: []jsonLintedProgram{}}
	add := func(name string, m *anesim.Model, err error) error {
		if err != nil {
			return err
		}
		list, err := lintModel(ctx, name, m)
		doc.Programs = append(doc.Programs, list...)
		return err
	}
	for _, file := range files {
		m, err := f.openText(file, files, c.InOrStdin())
		if err := add(file, m, err); err != nil {
			return err
		}
	}
	for _, words := range f.layers {
		m, err := input.ParseLayer(strings.Fields(words))
		if err := add(strings.Join(strings.Fields(words), " "), m, err); err != nil {
			return err
		}
	}
	write := writeFindings
	if f.json {
		write = func(w io.Writer, _ []jsonLintedProgram) error { return report.WriteDocument(w, &doc) }
	}
	// Findings are printed first: the error that follows only counts them, for the exit status.
	if err := write(c.OutOrStdout(), doc.Programs); err != nil {
		return err
	}
	return newLintError(doc.Programs)
}

// openText opens the model in a file, which it assembles first if it is descriptor text.
func (f *lintFlags) openText(file string, files []string, stdin io.Reader) (*anesim.Model, error) {
	if !strings.EqualFold(filepath.Ext(file), ".td") {
		return f.Dims.Open(anesim.OpenOptions{InMemory: f.inMemory}, file, files, stdin)
	}
	if _, _, err := f.Of(file, files); err != nil {
		return nil, err
	}
	text, err := input.ReadFile(file, stdin, input.MaxPiped)
	if err != nil {
		return nil, err
	}
	u, _, err := input.Assemble(file, text, nil)
	if err != nil {
		return nil, err
	}
	b, err := u.File()
	if err != nil {
		return nil, input.InFile(file, err)
	}
	m, err := anesim.Read(file, bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, input.InFile(file, err)
	}
	return m, nil
}

// lintModel returns the lint findings for each program of a model. It runs layers and networks, which
// needs no weights, and lints the programs of the run. A compiled program may be one that cannot run.
func lintModel(ctx context.Context, name string, m *anesim.Model) ([]jsonLintedProgram, error) {
	if m.Kind() == anesim.KindProgram {
		programs, err := m.Programs(ctx, anesim.Options{})
		if err != nil {
			return nil, input.ModelError(m, name, err)
		}
		return lintPrograms(name, programs, nil)
	}
	res, err := m.Run(ctx, anesim.Options{})
	if err != nil {
		return nil, input.ModelError(m, name, err)
	}
	return lintRunPrograms(name, res)
}

// lintRunPrograms returns the lint findings for each program of a run.
func lintRunPrograms(name string, res *anesim.Result) ([]jsonLintedProgram, error) {
	var programs []*loader.Program
	for i := range res.Programs {
		programs = append(programs, res.Programs[i].Program)
	}
	return lintPrograms(name, programs, report.MissingOf(res))
}

// lintPrograms returns the lint findings for each program of a model. The argument missing lists
// the layers that are in none of them.
func lintPrograms(name string, programs []*loader.Program, missing []report.Missing) (list []jsonLintedProgram, err error) {
	if len(programs) == 0 && len(missing) > 0 {
		return nil, input.InFile(name, newNothingCompiledError(missing))
	}
	for i, p := range programs {
		r, err := lint.Program(p)
		if err != nil {
			return nil, input.InFile(name, err)
		}
		x := jsonLintedProgram{name, i, r.Descriptors, r.Findings, r.More, r.Undecided, missing}
		if x.Findings == nil {
			x.Findings = []lint.Finding{}
		}
		list = append(list, x)
	}
	return list, nil
}

// lintWidth is the width of the text if it is not printed on a terminal.
const lintWidth = 80

// mostFindings is the most findings that are printed for a program.
const mostFindings = 100

func writeFindings(w io.Writer, list []jsonLintedProgram) error {
	p := terminal.NewPager(w)
	if p.Width == 0 {
		p.Width = lintWidth
	}
	for i := range list {
		x := &list[i]
		// A network has an element for each program; what it does not model is said once.
		if line := report.Incomplete(x.NotModelled); line != "" && x.Program == 0 {
			p.Printf("%s: %s", report.Printable(x.Input), line)
		}
		verdict := "ok  "
		if len(x.Findings) > 0 {
			verdict = "FAIL"
		}
		p.Printf("%s  %s: %s, %s", verdict, report.Printable(x.name()), report.Plural(x.Descriptors, "descriptor"), report.Plural(len(x.Findings)+x.More, "finding"))
		rests := ""
		for k := range x.Findings {
			if k == mostFindings {
				p.Printf("  ... and %d more", len(x.Findings)+x.More-k)
				break
			}
			f := &x.Findings[k]
			// Consecutive findings of one rule share its evidence, which follows the last of them.
			if k > 0 && x.Findings[k-1].Evidence != f.Evidence {
				p.Printf("    (%s)", rests)
			}
			rests = f.Evidence
			p.Printf("  descriptor %d %s  %s: %s", f.Descriptor, f.Register, f.Rule, f.What)
			if k == len(x.Findings)-1 || k == mostFindings-1 {
				p.Printf("    (%s)", rests)
			}
		}
		if x.Undecided > 0 {
			p.Printf("  %s not checked: too many parts", report.Plural(x.Undecided, "surface"))
		}
	}
	return p.Err
}

// newLintError returns an error with the number of findings, or nil if there are none.
func newLintError(list []jsonLintedProgram) error {
	n, programs := 0, 0
	for i := range list {
		if k := len(list[i].Findings) + list[i].More; k > 0 {
			n += k
			programs++
		}
	}
	if n == 0 {
		return nil
	}
	return fmt.Errorf("%s in %d of %s", report.Plural(n, "finding"), programs, report.Plural(len(list), "program"))
}

package command

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"anesim/internal/outfile"
	"anesim/internal/report"
	"anesim/loader"
	"anesim/loader/asm"
	"anesim/loader/e5"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/usage"
)

// converters lists the output formats by extension, each with a function that writes programs in
// it.
var converters = [...]struct {
	extension, what string
	write           func(programs []e5.Part) ([]byte, error)
}{
	{".hwx", "a hardware container", buildContainer},
	{".anec", "the Linux driver's form", func(p []e5.Part) ([]byte, error) { return p[0].Program.ANEC() }},
	{".anefw", "a firmware container", buildFirmware},
	{".bin", "the bare chain", func(p []e5.Part) ([]byte, error) { return bytes.Clone(p[0].Program.Text), nil }},
	{".td", "descriptor text", func(p []e5.Part) ([]byte, error) { return asm.Disassemble(p[0].Program) }},
	{".e5", "the dispatch descriptor of the containers", buildDispatch},
}

func convertCommand() *cobra.Command {
	var out, procedure string
	var forms []string
	for _, f := range converters {
		forms = append(forms, fmt.Sprintf("  %-7s %s", f.extension, f.what))
	}
	c := &cobra.Command{
		Use:   "convert FILE... -o OUT",
		Short: "Convert a program to another form",
		Long: `Convert writes a program in another form, which the extension of the output selects:

` + strings.Join(forms, "\n") + `

A firmware container can hold several programs. A dispatch descriptor can refer to
several, in the order in which they run. Where the documents leave the layout of these
two open, it is the project's own. Any program that has its weights can be converted to a
hardware container. anesim dump reads all of these files, and anesim run
all but .td and .e5.`,
		Example: "  anesim convert conv.hwx -o conv.anec\n  anesim convert a.hwx b.hwx -o net.e5",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("%s: missing FILE argument", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return convertPrograms(c.OutOrStdout(), c.InOrStdin(), args, out, procedure)
		},
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&out, "output", "o", "", "write to `FILE` (required)")
	s.StringVar(&procedure, "procedure", "", "`NAME` of the procedure, for containers with several; default is the first")
	return c
}

// maxConverted is the largest file that is converted or patched, which is kept in memory as a
// whole.
const maxConverted = 1 << 30

func convertPrograms(w io.Writer, stdin io.Reader, names []string, out, procedure string) error {
	if out == "" {
		return usage.Errorf("missing -o FILE")
	}
	extension := strings.ToLower(filepath.Ext(out))
	for _, f := range converters {
		if f.extension != extension {
			continue
		}
		// Check before the files are read, which may be standard input and large.
		if len(names) > 1 && f.extension != ".anefw" && f.extension != ".e5" {
			return usage.Errorf("%s holds only one program; found %d files", f.what, len(names))
		}
		var programs []e5.Part
		for _, name := range names {
			file, err := input.ReadFile(name, stdin, maxConverted)
			if err != nil {
				return err
			}
			p, err := input.ReadProgram(&loader.Options{Procedure: procedure}, filepath.Base(name), bytes.NewReader(file), int64(len(file)))
			if err != nil {
				return input.InFile(name, err)
			}
			// A dispatch descriptor refers to the containers as they are, so the bytes are kept as well.
			programs = append(programs, e5.Part{Program: p, Container: file})
		}
		data, err := f.write(programs)
		if err != nil {
			return err
		}
		if err := outfile.Write(out, data); err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s: %s, %s bytes\n", out, f.what, report.Thousands(uint64(len(data))))
		return err
	}
	var known []string
	for _, f := range converters {
		known = append(known, f.extension)
	}
	return usage.Errorf("unknown extension %q; want one of %s", extension, strings.Join(known, ", "))
}

// buildContainer returns the bytes of a container. If the first program is not in a container, it
// builds one.
func buildContainer(programs []e5.Part) ([]byte, error) {
	p := programs[0].Program
	if p.Form == loader.FormContainer {
		return p.Bytes(), nil
	}
	made, err := p.Rebuild()
	if err != nil {
		return nil, err
	}
	return made.Bytes(), nil
}

// buildFirmware returns a firmware container with all programs. If there are several, each is named
// after its file.
func buildFirmware(programs []e5.Part) ([]byte, error) {
	all := new(loader.Package)
	for i, p := range programs {
		one, err := p.Program.Package()
		if err != nil {
			return nil, err
		}
		q := one.Programs[0]
		q.ID = uint32(i)
		if len(programs) > 1 {
			q.Name = p.Program.Name
		}
		all.Programs = append(all.Programs, q)
	}
	return all.Bytes(), nil
}

func buildDispatch(programs []e5.Part) ([]byte, error) {
	p, err := e5.New([]e5.Entry{
		{Key: "built-for-profiling", Value: "false"},
		{Key: "input-file-path", Value: programs[0].Program.Name},
		{Key: "component-compiler", Value: programs[0].Program.Banner.Version},
		{Key: "component-runtime", Value: "anesim"},
		{Key: "component-engine", Value: programs[0].Program.Banner.Target},
		{Key: "on-device-compilation", Value: "false"},
		{Key: "format", Value: string(programs[0].Program.Form)},
	}, programs...)
	if err != nil {
		return nil, err
	}
	return p.Bytes(), nil
}

package command

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"anesim/loader"
	"anesim/loader/asm"
	"anesim/loader/e5"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/usage"
)

// converters write a program in other forms, by the extension of the output.
var converters = [...]struct {
	extension, what string
	write           func(programs []e5.Part) ([]byte, error)
}{
	{".hwx", "a hardware container", hardwareContainer},
	{".anec", "the Linux driver's form", func(p []e5.Part) ([]byte, error) { return p[0].Program.ANEC() }},
	{".anefw", "a firmware container", firmwareContainer},
	{".bin", "the bare chain", func(p []e5.Part) ([]byte, error) { return bytes.Clone(p[0].Program.Text), nil }},
	{".td", "descriptor text", func(p []e5.Part) ([]byte, error) { return asm.Disassemble(p[0].Program) }},
	{".e5", "the dispatch descriptor of the containers", dispatchDescriptor},
}

func convertCommand() *cobra.Command {
	var out, procedure string
	var forms []string
	for _, f := range converters {
		forms = append(forms, fmt.Sprintf("  %-7s %s", f.extension, f.what))
	}
	c := &cobra.Command{
		Use:   "convert FILE... -o OUT",
		Short: "Write a program in another form",
		Long: `Convert writes a program in the form that the output's extension names:

` + strings.Join(forms, "\n") + `

A firmware container takes several programs, and so does a dispatch descriptor, which
names them in the order they run. The layouts of both are the project's own where the
documents leave them open. A hardware container is made of a program of any other form
that has its weights. anesim run and anesim dump read what convert writes.`,
		Example: "  anesim convert conv.hwx -o conv.anec\n  anesim convert a.hwx b.hwx -o net.e5",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage.Errorf("%s requires a file", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return convert(c.OutOrStdout(), c.InOrStdin(), args, out, procedure)
		},
	}
	s := c.Flags()
	s.SortFlags = false
	s.StringVarP(&out, "output", "o", "", "write to `FILE` (required)")
	s.StringVar(&procedure, "procedure", "", "the `NAME` of the procedure of containers that have several; the first without")
	return c
}

// maxConverted bounds the file of a program that is converted or patched, which is in memory
// as a whole.
const maxConverted = 1 << 30

func convert(w io.Writer, stdin io.Reader, names []string, out, procedure string) error {
	if out == "" {
		return usage.Errorf("convert requires -o FILE")
	}
	extension := strings.ToLower(filepath.Ext(out))
	for _, f := range converters {
		if f.extension != extension {
			continue
		}
		if len(names) > 1 && f.extension != ".anefw" && f.extension != ".e5" {
			return usage.Errorf("%s holds one program, not %d", f.what, len(names))
		}
		var programs []e5.Part
		for _, name := range names {
			file, err := input.ReadFile(name, stdin, maxConverted)
			if err != nil {
				return err
			}
			p, err := (&loader.Options{Procedure: procedure}).Read(filepath.Base(name), bytes.NewReader(file), int64(len(file)))
			if err != nil {
				return input.InFile(name, err)
			}
			programs = append(programs, e5.Part{Program: p, Container: file})
		}
		data, err := f.write(programs)
		if err != nil {
			return err
		}
		if err := outfile.Write(out, data); err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s: %s, %d bytes\n", out, f.what, len(data))
		return err
	}
	var known []string
	for _, f := range converters {
		known = append(known, f.extension)
	}
	return usage.Errorf("no form has the extension %q; there are %s", extension, strings.Join(known, ", "))
}

// hardwareContainer is a container as it is, or one made of a program of another form.
func hardwareContainer(programs []e5.Part) ([]byte, error) {
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

// firmwareContainer puts programs into one package, named by their files.
func firmwareContainer(programs []e5.Part) ([]byte, error) {
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

func dispatchDescriptor(programs []e5.Part) ([]byte, error) {
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

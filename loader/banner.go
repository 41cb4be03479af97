package loader

import "strings"

// A Banner is the compiler's own command line, as the container keeps it.
type Banner struct {
	Text     string // verbatim
	Compiler string // zin_ane_compiler
	Version  string // v4.2.1
	Target   string // value of -t: h13, h13g
	Flags    []Flag // in their order
}

// A Flag is an option of the command line.
type Flag struct {
	Name  string // with its dashes
	Value string
}

// parseBanner reads "ANEC v1", the compiler with its version, and a flag per line.
func parseBanner(text string) Banner {
	b := Banner{Text: text}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || i == 0:
		case !strings.HasPrefix(line, "-"):
			if b.Compiler == "" {
				b.Compiler, b.Version, _ = strings.Cut(line, " ")
			}
		default:
			// Long flags have their value after =, short ones after a space.
			f := Flag{Name: line}
			if strings.HasPrefix(line, "--") {
				f.Name, f.Value, _ = strings.Cut(line, "=")
			} else {
				f.Name, f.Value, _ = strings.Cut(line, " ")
			}
			if f.Name == "-t" {
				b.Target = f.Value
			}
			b.Flags = append(b.Flags, f)
		}
	}
	return b
}

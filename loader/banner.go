package loader

import "strings"

// A Banner is the command line of Apple's compiler, as a container records it.
type Banner struct {
	Text     string // verbatim
	Compiler string // such as zin_ane_compiler
	Version  string // such as v4.2.1
	Target   string // value of -t, such as h13 or h13g
	Flags    []Flag // in order
}

// A Flag is one option of the compiler's command line.
type Flag struct {
	Name  string // with its dashes
	Value string
}

// parseBanner parses the text of a banner: a first line "ANEC v1", which it skips, then a line with
// the compiler and its version, then one flag per line.
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
			// The value of a long flag follows =, that of a short flag follows a space.
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

package explain

import (
	"slices"
	"strings"

	"anesim"
)

func (x *explainer) formatLayerCommand(words []string) string {
	list := append([]string{"anesim", "layer"}, words...)
	return quoteCommand(append(append(list, "--timing-only"), x.formatLayerFlags()...))
}

// formatChipFlag returns the flag that selects the chip of this run, and its value, which changes to
// constants may follow: the user's --machine or --chip or, without one, --chip with the chip's name.
func (x *explainer) formatChipFlag() (flag, value string) {
	for i := 0; i+1 < len(x.how.Flags); i += 2 {
		if f := x.how.Flags[i]; f == "--chip" || f == "--machine" {
			return f, x.how.Flags[i+1]
		}
	}
	return "--chip", x.base.Options.Chip.Name
}

// layerFlags lists the flags that select the chip and the host of a run, which "anesim layer" has as well.
var layerFlags = []string{"--chip", "--host", "--machine", "--clock", "--gate-tiles"}

// formatModelCommand returns a command line that runs the model with the user's flags and the given
// flags. A given flag replaces the user's flag of the same name.
func (x *explainer) formatModelCommand(flags ...string) string {
	var list []string
	switch x.model.Kind() {
	case anesim.KindLayer:
		list = append(append([]string{"anesim", "layer"}, strings.Fields(x.model.Name())...), "--timing-only")
	case anesim.KindNetwork:
		list = append([]string{"anesim", "model", x.how.File}, x.formatResidencyFlag()...)
	default:
		list = []string{"anesim", "run", x.how.File, "--timing-only"}
	}
	for i := 0; i+1 < len(x.how.Flags); i += 2 {
		f := x.how.Flags[i]
		if slices.Contains(flags, f) || x.model.Kind() == anesim.KindLayer && !slices.Contains(layerFlags, f) {
			continue
		}
		list = append(list, f, x.how.Flags[i+1])
	}
	return quoteCommand(append(list, flags...))
}

// formatLayerFlags returns those of the user's flags that are in layerFlags, with their values.
func (x *explainer) formatLayerFlags() (list []string) {
	for i := 0; i+1 < len(x.how.Flags); i += 2 {
		if f := x.how.Flags[i]; slices.Contains(layerFlags, f) {
			list = append(list, f, x.how.Flags[i+1])
		}
	}
	return list
}

func (x *explainer) formatFileCommand(command string, flags ...string) string {
	return x.how.Command(command, flags...)
}

// Command returns a shell command that runs "anesim COMMAND" on h.File, with the flags in h.Flags
// followed by flags. It quotes words where a shell requires it.
func (h *Options) Command(command string, flags ...string) string {
	return quoteCommand(slices.Concat([]string{"anesim", command, h.File}, h.Flags, flags))
}

// quoteCommand joins words into a command line that a shell splits into the same words.
func quoteCommand(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = w
		plain := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=,:+%@", r)
		}
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

package machine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anesim/hw/spelling"
)

// A Script is what clients and a host do with a machine, a line for each step:
//
//	# two programs, one of which preempts the other
//	option host=macos-air seed=3
//	model slow layer softmax c=64 w=64
//	client app rights=user-access
//	call app ANE_DeviceOpen
//	expect Success
//	send control BOOT
//	hold
//	step 2
//	drain
//	expect finished 2
//
// Words are apart by spaces; # begins a comment.
type Script struct{ lines []scriptLine }

// A scriptLine is one step.
type scriptLine struct {
	number int
	words  []string
}

// A ScriptError is a line of a script that cannot be read, or an expectation that
// does not hold.
type ScriptError struct {
	Line int
	What string
	Err  error
	// Expected says that the script was understood and what it expects did not come.
	Expected bool
}

func (e *ScriptError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Unwrap returns the cause.
func (e *ScriptError) Unwrap() error { return e.Err }

// MaxText bounds the bytes of a script.
const MaxText = 4 << 20

// maxScriptLines bounds the lines of a script.
const maxScriptLines = 1 << 16

// scriptSteps are the first words of lines, with the fewest words of each.
var scriptSteps = map[string]int{
	"option": 2, "model": 3, "client": 2, "send": 3, "call": 3, "ask": 3, "raw": 3, "close": 2,
	"hold": 1, "step": 1, "drain": 1, "set": 4, "expect": 2, "doorbell": 2, "wait": 2,
	"until": 2, "post": 3, "map": 3, "lend": 4, "signal": 3,
}

// ReadScript reads a script's lines. Errors are a *[ScriptError].
func ReadScript(data []byte) (*Script, error) {
	if len(data) > MaxText {
		return nil, &ScriptError{Line: 1, What: fmt.Sprintf("more than %d bytes", MaxText)}
	}
	s, number := new(Script), 0
	for line := range bytes.Lines(data) {
		number++
		text, _, _ := strings.Cut(string(line), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		fail := func(format string, args ...any) (*Script, error) {
			return nil, &ScriptError{Line: number, What: fmt.Sprintf(format, args...)}
		}
		least, ok := scriptSteps[words[0]]
		switch {
		case !ok:
			return fail("%q is no step%s", words[0], spelling.Suggest(words[0], slices.Sorted(maps.Keys(scriptSteps))))
		case len(words) < least:
			return fail("%s takes %d words or more", words[0], least-1)
		case words[0] == "option" && len(s.lines) > 0 && s.lines[len(s.lines)-1].words[0] != "option":
			return fail("options stand before all else")
		case len(s.lines) == maxScriptLines:
			return fail("more than %d steps", maxScriptLines)
		}
		s.lines = append(s.lines, scriptLine{number, words})
	}
	return s, nil
}

// pairsOf takes words of the form key=value apart; a word without = has an empty value.
// Keys that are not known are an error.
func pairsOf(words []string, known ...string) (map[string]string, error) {
	m := map[string]string{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		if _, twice := m[k]; twice {
			return nil, fmt.Errorf("%s is given twice", k)
		}
		at := false
		for _, name := range known {
			at = at || name == k
		}
		if !at {
			return nil, fmt.Errorf("%q: want %s%s", k, strings.Join(known, ", "), spelling.Suggest(k, known))
		}
		m[k] = v
	}
	return m, nil
}

package machine

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anesim/internal/spelling"
)

// A Script lists the actions of clients and a host, one step per line:
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
// Words are separated by spaces, and # starts a comment.
type Script struct{ lines []scriptLine }

// A scriptLine is one step of a script, as words.
type scriptLine struct {
	number int
	words  []string
}

// A ScriptError reports a line of a script that is malformed, a step that fails, or an expectation
// that is not met.
type ScriptError struct {
	Line int
	What string
	Err  error
	// Expected is true if the line is an expectation that was not met.
	Expected bool
}

func (e *ScriptError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// Unwrap returns the cause of the error, e.Err, which may be nil.
func (e *ScriptError) Unwrap() error { return e.Err }

// MaxText is the largest size of a script in bytes.
const MaxText = 4 << 20

// maxScriptLines is the maximum number of steps in a script.
const maxScriptLines = 1 << 16

// ReadScript parses a script. All errors are of type *[ScriptError].
func ReadScript(data []byte) (*Script, error) {
	if len(data) > MaxText {
		return nil, &ScriptError{Line: 1, What: fmt.Sprintf("script is longer than %d bytes", MaxText)}
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
		step, ok := scriptSteps[words[0]]
		switch {
		case !ok:
			return fail("unknown step %q%s", words[0], spelling.Suggest(words[0], slices.Sorted(maps.Keys(scriptSteps))))
		case len(words) <= step.operands:
			return fail("step %q has too few operands (%d); want at least %d", words[0], len(words)-1, step.operands)
		case words[0] == "option" && len(s.lines) > 0 && s.lines[len(s.lines)-1].words[0] != "option":
			return fail(`"option" steps must come before all other steps`)
		case len(s.lines) == maxScriptLines:
			return fail("script has more than %d steps", maxScriptLines)
		}
		s.lines = append(s.lines, scriptLine{number, words})
	}
	return s, nil
}

// parsePairs parses words of the form key=value. A word without = has an empty value. It returns an
// error if a key is not among known or occurs twice.
func parsePairs(words []string, known ...string) (map[string]string, error) {
	m := map[string]string{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		if _, twice := m[k]; twice {
			return nil, fmt.Errorf("duplicate key %q", k)
		}
		at := false
		for _, name := range known {
			at = at || name == k
		}
		if !at {
			return nil, fmt.Errorf("unknown key %q; want %s%s", k, strings.Join(known, ", "), spelling.Suggest(k, known))
		}
		m[k] = v
	}
	return m, nil
}

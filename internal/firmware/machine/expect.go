package machine

import (
	"fmt"
	"strconv"
	"strings"

	"anesim/firmware/engine"
	"anesim/internal/firmware/command"
	"anesim/internal/spelling"
	"anesim/loader"
)

// checkExpectation carries out the step "expect". The words are the name or the number of the last
// step's outcome, or one of "finished N", "completion PORT SEQ RETURN", "event ID N", "notified NAME N", "crc32 SLOT PORT SUM",
// "values SLOT PORT V..." and "cycles SLOT N".
func (p *player) checkExpectation(words []string) error {
	switch words[0] {
	case "finished":
		if len(words) != 2 || words[1] != strconv.Itoa(p.machine.engine.finished) {
			return fmt.Errorf("%d requests finished; want %s", p.machine.engine.finished, strings.Join(words[1:], " "))
		}
		return nil
	case "event":
		if len(words) != 3 {
			return fmt.Errorf(`wrong number of operands (%d); want "expect event EVENT VALUE"`, len(words)-1)
		}
		id, err := strconv.ParseUint(words[1], 0, 32)
		if err != nil {
			return fmt.Errorf("invalid event %q; want a number", words[1])
		}
		if v := p.machine.Event(uint32(id)); words[2] != strconv.FormatUint(v, 10) {
			return fmt.Errorf("event %d has value %d; want %s", id, v, words[2])
		}
		return nil
	case "notified":
		if len(words) != 3 {
			return fmt.Errorf(`wrong number of operands (%d); want "expect notified NOTIFICATION COUNT"`, len(words)-1)
		}
		if _, ok := command.Parse(words[1]); !ok {
			return fmt.Errorf("unknown notification %q%s", words[1], spelling.Suggest(words[1], notificationNames()))
		}
		if n := p.notified[words[1]]; words[2] != strconv.Itoa(n) {
			return fmt.Errorf("received %d %q notifications; want %s", n, words[1], words[2])
		}
		return nil
	case "completion":
		return p.expectCompletion(words)
	case "cycles":
		return p.checkExpectedCycles(words)
	case "crc32", "values":
		return p.checkExpectedOutput(words)
	}
	// Not one of the words above, so it names the outcome of the step before.
	want := strings.Join(words, " ")
	for _, name := range p.outcome.names {
		if strings.EqualFold(name, want) {
			return nil
		}
	}
	if p.outcome.text == "" {
		return fmt.Errorf("no earlier step has an outcome; want %q", want)
	}
	return fmt.Errorf("last outcome is %q; want %q", p.outcome.text, want)
}

// checkExpectedCycles carries out the step "expect cycles SLOT N", which checks that the last call
// of the program in the slot took N cycles.
func (p *player) checkExpectedCycles(words []string) error {
	if len(words) != 3 {
		return fmt.Errorf(`wrong number of operands (%d); want "expect cycles SLOT COUNT"`, len(words)-1)
	}
	slot, err := strconv.ParseInt(words[1], 0, 32)
	if err != nil {
		return fmt.Errorf("invalid slot %q; want a number", words[1])
	}
	res, err := p.machine.Result(int32(slot))
	switch {
	case err != nil:
		return err
	case res == nil:
		return fmt.Errorf("program in slot %d has not run", slot)
	case words[2] != strconv.FormatUint(uint64(res.Report.Cycles), 10):
		return fmt.Errorf("last call in slot %d took %d cycles; want %s", slot, res.Report.Cycles, words[2])
	}
	return nil
}

// checkExpectedOutput carries out the steps "expect crc32 SLOT PORT SUM" and "expect values SLOT
// PORT V...", which check the output of a program.
func (p *player) checkExpectedOutput(words []string) error {
	if len(words) < 4 {
		return fmt.Errorf(`step "expect %s" has too few operands (%d); want a slot, an output and the expected data`, words[0], len(words)-1)
	}
	// findPort also accepts SLOT:PROCEDURE, but results are kept by slot, of the last call alone. The
	// number was parsed there, so it is valid.
	_, port, err := p.findPort(words[1], words[2], loader.Output)
	if err != nil {
		return err
	}
	number, _, _ := strings.Cut(words[1], ":")
	slot, _ := strconv.ParseInt(number, 0, 32)
	res, err := p.machine.Result(int32(slot))
	if err != nil {
		return err
	}
	if res == nil {
		return fmt.Errorf("program %q has not run", p.machine.engine.programs[int32(slot)].image.model.Name())
	}
	for _, out := range res.Outputs {
		if out.Port.Name != port.Name {
			continue
		}
		// The checksum covers the output's bytes; values are compared as bits, so that -0 differs
		// from 0 and a NaN can be expected.
		if words[0] == "crc32" {
			if got := engine.Checksum(out.Data); got != words[3] {
				return fmt.Errorf("output %q has CRC-32 %s; want %s", port.Name, got, words[3])
			}
			return nil
		}
		want, err := parseHalves(words[3:], len(out.Data))
		if err != nil {
			return err
		}
		for i := range want {
			if want[i] != out.Data[i] {
				return fmt.Errorf("element %d of output %q is %v; want %v", i, port.Name, out.Data[i], want[i])
			}
		}
		return nil
	}
	return fmt.Errorf("values of output %q were not computed", port.Name)
}

// notificationNames returns the names of the messages that the controller sends.
func notificationNames() (names []string) {
	for id := range command.ID(command.Commands) {
		if info, _ := id.Info(); info.Direction == command.Up {
			names = append(names, info.Name)
		}
	}
	return names
}

package anesim

import (
	"fmt"
	"io"
	"strings"
)

// WriteMachineScript writes the commands that a run of one program sends as a script for
// [ReadMachineScript], with what they came to as expectations. model is what follows the
// name in the script's model line: "builtin", "file NAME" or "layer OP KEYS".
func (r *Result) WriteMachineScript(w io.Writer, model string) error {
	if n := len(r.Programs); n != 1 {
		return &OptionError{"Record", fmt.Sprintf("requires a single program; %s has %d", r.Model.name, n)}
	}
	if strings.ContainsAny(model, "#\n\r") {
		return &OptionError{"Record", fmt.Sprintf("a script cannot name %q", model)}
	}
	o, p := &r.Options, &r.Programs[0]
	values := "off"
	if o.Values {
		values = "on"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "option chip=%s host=%s seed=%d values=%s\n", o.Chip.Name, o.Host.Name, o.Seed, values)
	fmt.Fprintf(&b, "model program %s\nsend control BOOT\nsend control REQUEST_PROGRAM_ID\n", model)
	b.WriteString("send control LOAD_PROGRAM program=0 model=program\nexpect ok\nsend control CREATE_PROCESS program=0 process=0\n")
	for range p.Dispatches {
		b.WriteString("send execution PROCEDURE_CALL program=0 process=0\n")
		if len(r.Report.Faults) > 0 {
			b.WriteString("expect failed\n")
		} else {
			b.WriteString("expect ok\n")
		}
	}
	if n := len(p.Dispatches); n > 0 && len(r.Report.Faults) == 0 {
		cycles := uint64(0)
		for i := range p.Dispatches[n-1].Descriptors {
			cycles += uint64(p.Dispatches[n-1].Descriptors[i].Cycles.Total())
		}
		fmt.Fprintf(&b, "expect cycles 0 %d\n", cycles)
	}
	for _, out := range r.Outputs {
		if strings.ContainsAny(out.Port.Name, " \t#\n\r") {
			continue // a word of a script cannot have it
		}
		fmt.Fprintf(&b, "expect crc32 0 %s %s\n", out.Port.Name, Checksum(out.Data))
	}
	b.WriteString("send control TERMINATE_PROCESS program=0 process=0\nsend control UNLOAD_PROGRAM program=0\nsend control RETURN_PROGRAM_ID program=0\nexpect ok\n")
	_, err := io.WriteString(w, b.String())
	return err
}

package command

import (
	"cmp"
	"fmt"
	"io"

	"anesim/internal/firmware/command"
	"anesim/internal/firmware/driver"
	"anesim/tools/anesim/internal/terminal"
)

// writeScriptTables writes tables of the names that a script can use: commands with the source of
// their layout, selectors with the sizes of their structs, methods with their entitlements,
// returns and properties. The last table lists conflicts between the documents.
func writeScriptTables(w io.Writer) error {
	for i, t := range newScriptTables() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := t.Print(w, 0); err != nil {
			return err
		}
	}
	return nil
}

func newScriptTables() []*terminal.Table {
	commands := terminal.Words("command", "name", "direction", "subsystem", "body")
	for id := range command.ID(command.Commands) {
		info, _ := id.Info()
		commands.Add(fmt.Sprintf("%#02x", uint32(id)), info.Name, fmt.Sprint(info.Direction), info.Subsystem, fmt.Sprint(info.Body))
	}
	list := []*terminal.Table{commands}
	for _, k := range []driver.Kind{driver.Control, driver.DirectPath} {
		t := terminal.Words(fmt.Sprint(k), "selector", "scalars in", "bytes in", "scalars out", "bytes out")
		for _, s := range driver.Selectors(k) {
			t.Add(fmt.Sprint(s.Number), s.Name, fmt.Sprint(s.ScalarsIn), fmt.Sprint(s.StructIn), fmt.Sprint(s.ScalarsOut), fmt.Sprint(s.StructOut))
		}
		list = append(list, t)
	}
	methods := terminal.Words("method", "role", "gate")
	for _, m := range driver.Methods() {
		// No method of the table needs both.
		gate := cmp.Or(m.Entitlement, "-")
		if m.Privileged {
			gate = "privileged virtual-machine access"
		}
		methods.Add(m.Name, m.Role, gate)
	}
	returns := terminal.Words("return", "value", "public header")
	for _, r := range driver.Returns() {
		returns.Add(r.Name(), fmt.Sprintf("%#x", uint32(r)), fmt.Sprintf("%#x", r.Public()))
	}
	properties := terminal.Words("property", "value")
	for _, p := range driver.Properties() {
		properties.Add(p.Name, p.Value)
	}
	conflicts := terminal.Words("conflict", "one reading", "another", "taken")
	for _, c := range driver.Conflicts() {
		conflicts.Add(c.What, fmt.Sprintf("%s (%s)", c.One, c.OneAt), fmt.Sprintf("%s (%s)", c.Other, c.OtherAt), c.Taken)
	}
	return append(list, methods, returns, properties, conflicts)
}

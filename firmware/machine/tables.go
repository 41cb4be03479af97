package machine

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"

	"anesim/firmware/command"
	"anesim/firmware/driver"
)

// WriteTables writes tables of the names that scripts can use and of the sources of their
// layouts: commands with the source of their bodies, selectors with their sizes, other
// methods with their gates, return values, properties, and the places where the documents
// disagree.
func WriteTables(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "command\tname\tdirection\tsubsystem\tbody\n")
	for id := range command.ID(command.Commands) {
		info, _ := id.Info()
		fmt.Fprintf(t, "%#02x\t%s\t%v\t%s\t%v\n", uint32(id), info.Name, info.Direction, info.Subsystem, info.Body)
	}
	for _, k := range []driver.Kind{driver.Control, driver.DirectPath} {
		fmt.Fprintf(t, "\n%v\tselector\tscalars in\tbytes in\tscalars out\tbytes out\n", k)
		for _, s := range driver.Selectors(k) {
			fmt.Fprintf(t, "%d\t%s\t%d\t%d\t%d\t%d\n", s.Number, s.Name, s.ScalarsIn, s.StructIn, s.ScalarsOut, s.StructOut)
		}
	}
	fmt.Fprintf(t, "\nmethod\trole\tgate\n")
	for _, m := range driver.Methods() {
		gate := cmp.Or(m.Entitlement, "-")
		if m.Privileged {
			gate = "privileged virtual-machine access"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", m.Name, m.Role, gate)
	}
	fmt.Fprintf(t, "\nreturn\tvalue\tpublic header\n")
	for _, r := range driver.Returns() {
		fmt.Fprintf(t, "%s\t%#x\t%#x\n", r.Name(), uint32(r), r.Public())
	}
	fmt.Fprintf(t, "\nproperty\tvalue\n")
	for _, p := range driver.Properties() {
		fmt.Fprintf(t, "%s\t%s\n", p.Name, p.Value)
	}
	fmt.Fprintf(t, "\nconflict\tone reading\tanother\ttaken\n")
	for _, c := range driver.Conflicts() {
		fmt.Fprintf(t, "%s\t%s (%s)\t%s (%s)\t%s\n", c.What, c.One, c.OneAt, c.Other, c.OtherAt, c.Taken)
	}
	return t.Flush()
}

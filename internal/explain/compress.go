package explain

import (
	"fmt"
	"slices"

	"anesim"
	"anesim/internal/compression"
	"anesim/internal/report"
)

// CompressWeights returns a copy of the network m whose weights are stored in the named form, such as
// "int8"; see [compression.Compress]. Its name and a note say so. The copy is for times only. The error is an
// *[anesim.OptionError] for an unknown form, and for a network without weights in fp16.
func CompressWeights(m *anesim.Model, form string) (*anesim.Model, error) {
	bad := func(format string, args ...any) (*anesim.Model, error) {
		return nil, &anesim.OptionError{Option: "Weights", What: fmt.Sprintf(format, args...)}
	}
	if m.Kind() != anesim.KindNetwork {
		return bad("cannot store weights of %v %s as %s; want a network", m.Kind(), m.Name(), form)
	}
	c, err := compression.ParseForm(form)
	if err != nil {
		return bad("%v", err)
	}
	n, count, err := compression.Compress(m.Network(), c)
	switch {
	case err != nil:
		return nil, err
	case count == 0:
		return bad("no layer has weights in fp16")
	}
	n.Name += ", weights as " + form // in every form of a report
	n.Notes = append(slices.Clone(n.Notes), fmt.Sprintf("weights of %s are stored as %s for times only: nothing says whether their values are good enough", report.Plural(count, "layer"), form))
	return anesim.FromNetwork(n), nil
}

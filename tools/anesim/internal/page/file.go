package page

import (
	"bytes"
	"fmt"

	"anesim/tools/anesim/internal/outfile"
	"anesim/tools/anesim/internal/view"
)

// WriteFile writes a report as an HTML page. It returns an error if file is one of the inputs.
func WriteFile(file string, r *view.Report, o Options, inputs ...string) error {
	if err := outfile.CheckInputs(file, inputs...); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	var b bytes.Buffer
	if err := Write(&b, r, o); err != nil {
		return err
	}
	return outfile.Write(file, b.Bytes())
}

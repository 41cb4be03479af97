package command

import (
	"encoding/xml"
	"fmt"
	"strings"

	"anesim/internal/check"
	"anesim/internal/outfile"
	"anesim/internal/report"
)

// A junitSuite holds the verdicts in the format of JUnit.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func writeJUnit(file string, verdicts []check.Verdict, compared []check.Comparison, linted []jsonLintedProgram) error {
	s := junitSuite{Name: "anesim check", Tests: len(verdicts) + len(compared) + len(linted)}
	for i := range verdicts {
		v := &verdicts[i]
		// Class tells the kinds of checks apart: viewers of JUnit files group cases by it, and one
		// input can have a case of each kind.
		c := junitCase{Class: "anesim.check", Name: report.Printable(v.Input)}
		if !v.Passed() {
			s.Failures++
			var b strings.Builder
			for _, p := range v.Places() {
				for k := range p.Differences {
					fmt.Fprintln(&b, p.Differences[k].String())
				}
				for _, why := range p.Why {
					fmt.Fprintln(&b, " ", why)
				}
			}
			if len(v.Differences) > 0 { // otherwise the cause has them
				for _, note := range v.Relocations {
					fmt.Fprintln(&b, note)
				}
			}
			c.Failure = &junitFailure{v.Summary(), v.Cause() + "\n" + b.String()}
		}
		s.Cases = append(s.Cases, c)
	}
	for i := range compared {
		x := &compared[i]
		c := junitCase{Class: "anesim.expect", Name: report.Printable(fmt.Sprintf("%s: %s: %s %s", x.Input, x.Where, x.Measure, x.Limit()))}
		if !x.Passed {
			s.Failures++
			c.Failure = &junitFailure{report.Printable(x.String()), strings.Join(x.Why, "\n")}
		}
		s.Cases = append(s.Cases, c)
	}
	for i := range linted {
		x := &linted[i]
		c := junitCase{Class: "anesim.lint", Name: report.Printable(x.name())}
		if n := len(x.Findings) + x.More; n > 0 {
			s.Failures++
			var b strings.Builder
			for k := range x.Findings {
				fmt.Fprintln(&b, &x.Findings[k])
			}
			c.Failure = &junitFailure{report.Plural(n, "finding"), b.String()}
		}
		s.Cases = append(s.Cases, c)
	}
	// The whole document is in memory before the file is created, so an error leaves no part of one.
	b, err := xml.MarshalIndent(&s, "", " ")
	if err != nil {
		return err
	}
	return outfile.Write(file, append([]byte(xml.Header), append(b, '\n')...))
}

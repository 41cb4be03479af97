package command

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"anesim"
	"anesim/firmware/engine"
	"anesim/internal/firmware/machine"
	"anesim/internal/firmware/traffic"
	"anesim/internal/outfile"
	"anesim/internal/scripts"
	"anesim/tools/anesim/internal/flags"
	"anesim/tools/anesim/internal/input"
	"anesim/tools/anesim/internal/interrupt"
	"anesim/tools/anesim/internal/terminal"
	"anesim/tools/anesim/internal/usage"
)

func fwCommand() *cobra.Command {
	var tables bool
	c := &cobra.Command{
		Use:   "fw SCRIPT",
		Short: "Play a script of driver and firmware commands",
		Long: `Fw plays SCRIPT, one step per line, on an engine with its firmware and driver. It prints the
result of each step, the events of the task queues, the list of messages, and statistics.
The SCRIPT - is standard input. A failed expectation ends the run with exit status 1.

  option host=macos-air seed=3 values=on     chip, host, seed, values, depth= of the rings,
                                             in_flight= commands that the driver admits, 1
                                             as on macOS, preemption=none|run|abort; must
                                             come first
  model NAME builtin|file FILE|layer OP KEYS a model for load commands; layers
                                             OP KEYS / OP KEYS has a procedure for each
  client NAME rights=user-access,realtime    a user client; kind=control|direct|hints,
                                             privileged, team=, hash=; with rights=broker
                                             instead of user-access, or qos=CLASS, it is
                                             connected to the broker
  call NAME SELECTOR model=|program=|...     a selector with a struct of its size; size=N
                                             changes the size; priority= of a request is 0
                                             (most urgent) to 7, qos= its class;
                                             timeout=2ms; async=PORT sequence=N returns
                                             when the request is posted
  lease NAME model=MODEL                     the broker opens a model for a client; with
                                             weights=OTHER, an adapter: an instance of the
                                             resident MODEL with the weights of OTHER
  map NAME BUFFER bytes=N                    a buffer, for surfaces=BUFFER,BUFFER of calls
  lend NAME OTHER program=N                  a handle to a program, for another client
  ask NAME program=N                         a request through the broker
  raw NAME METHOD NUMBERS                    a method other than the selectors
  send control|execution COMMAND program=0   a command on the ring, by name or number;
                                             procedure=, wait=EVENT:VALUE, signal=,
                                             shared=, buffers=PORT:BUFFER, bars=BAR:VALUE,
                                             bind=NAME:VALUE; a list may be a number of
                                             empty entries; timeout=2ms ends a call
  post control|execution COMMAND ...         the same without the doorbell
  doorbell N                                 write a doorbell word and show the answer
  signal EVENT VALUE                         an event, from the host
  set SLOT PORT VALUES                       an input of the program in a slot, or of
                                             SLOT:PROCEDURE
  hold / step N / drain                      hold requests; run N runs; run all
  until TIME                                 run, or idle, up to a time since the start
  wait DURATION                              let the engine idle
  close NAME                                 end a client
  expect NAME|CODE                           result of the last step: ok, refused,
                                             dropped, denied, Success, 0xe00002c7, ...
  expect completion PORT N RETURN            wait for the completion of sequence N
  expect finished N                          finished requests so far
  expect event EVENT VALUE
  expect notified NOTIFICATION N             unsolicited messages so far
  expect crc32|values SLOT PORT ...          an output of the slot's last call
  expect cycles SLOT N

Bars and bind set fields of the descriptors for one call, as FILE.params beside the model
says: the bars of its address, data-set and offset lines by number, from 0, and a param
by its name. A call with another number or name, or a value out of range, runs nothing.

A client's call takes the time of the host's stages, as in anesim load; the script's own
messages (send, post, raw) and requests on hold take none. With one command in flight,
nothing is ever preempted, since no host has two programs at the engine.

anesim run --record FILE and anesim load --record FILE write such scripts. See
docs/firmware.md for transcripts.`,
		Example: `  anesim fw tools/anesim/examples/preempt.fw
  anesim run model.hwx --record run.fw && anesim fw run.fw`,
		Args: func(c *cobra.Command, args []string) error {
			if tables && len(args) == 0 {
				return nil
			}
			return usage.OneFile(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if tables {
				if len(args) > 0 {
					return usage.Errorf("--tables and SCRIPT are mutually exclusive")
				}
				return writeScriptTables(c.OutOrStdout())
			}
			return playScript(c, args[0])
		},
	}
	c.Flags().BoolVar(&tables, "tables", false, "print the commands, selectors, methods and returns that a script can use")
	return c
}

func playScript(c *cobra.Command, file string) error {
	var s_ *machine.Script
	err := input.Open(file, c.InOrStdin(), func(_ string, r io.ReaderAt, size int64) error {
		data, err := input.ReadWhole(r, size, machine.MaxText)
		if err != nil {
			return err
		}
		s_, err = machine.ReadScript(data)
		return err
	})
	if err != nil {
		return err
	}
	ctx, stop := interrupt.Context()
	defer stop()
	// A script writes many short lines.
	stdout := bufio.NewWriter(c.OutOrStdout())
	out := terminal.NewWrapper(stdout, terminal.Width(c.OutOrStdout()))
	_, err = s_.Play(ctx, out, scripts.Models{Open: func(name string) (*anesim.Model, error) {
		dims := flags.Dims{Source: "anesim model --dim; with --emit it writes a program for this script"}
		path := resolveModelPath(file, name)
		m, err := dims.Open(anesim.OpenOptions{}, path, nil, nil)
		if err != nil {
			return nil, err
		}
		return input.WithParameters(m, path)
	}})
	// What the script printed up to a failed step is flushed as well; the error of the step is the one to
	// report.
	flushed := cmp.Or(out.Flush(), stdout.Flush())
	if err != nil {
		return nameScript(file, err)
	}
	return flushed
}

// pathRelativeToScript returns the path of a file relative to the directory of a script, as the
// script can name the file.
func pathRelativeToScript(script, file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		if dir, err := filepath.Abs(filepath.Dir(script)); err == nil {
			if rel, err := filepath.Rel(dir, abs); err == nil {
				return rel
			}
		}
	}
	return file
}

// writeRunScript writes a firmware script that repeats the commands of a run to file. The script
// refers to the model with the text model.
func writeRunScript(file string, res *anesim.Result, model string) error {
	if n := len(res.Programs); n != 1 {
		return &anesim.OptionError{Option: "Record", What: fmt.Sprintf("model %q has %d programs; want exactly one", res.Model.Name(), n)}
	}
	o := engine.Options{Chip: res.Options.Chip, Host: res.Options.Host, Seed: res.Options.Seed, Values: res.Options.Values, Bind: res.Options.Bind}
	var outputs []engine.Tensor
	for _, out := range res.Outputs {
		outputs = append(outputs, engine.Tensor{Port: out.Port, Data: out.Data})
	}
	f, err := outfile.Create(file)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := machine.WriteRecording(f, model, &o, &res.Programs[0].Result, outputs); err != nil {
		return err
	}
	return f.Commit()
}

// writeLoadScript writes a firmware script that repeats the commands of a load to file. The load
// itself is described in the file with the name script.
func writeLoadScript(file, script string, l *scripts.Load) error {
	return outfile.WriteTo(file, func(w io.Writer) error {
		return l.WriteMachineScript(w, func(c *traffic.ScriptClient) string {
			if c.Layer != "" {
				return "layer " + c.Layer
			}
			return "file " + pathRelativeToScript(file, resolveModelPath(script, c.Model))
		})
	})
}

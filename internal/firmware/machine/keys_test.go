package machine

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"anesim/firmware"
	"anesim/internal/firmware/command"
)

// Queries print the answers of the controller.
func TestQueriesOfScripts(t *testing.T) {
	out := script(t, fmt.Sprintf(`send control BUILDINFO
expect %s
send control BOOT
send control RESOURCE_INFO_GET
expect ok
send control STATS_BUFFER_SIZE_GET
expect %d
send control TIMEPROFILE_SHOW
expect unsupported
send execution INFERENCE_CALL
expect unsupported
`, command.Build, firmware.StatisticsBytes))
	for _, want := range []string{"ok: 32 tiles, 8 queues, 8589934592 of 8589934592 bytes of memory free", "the profiler is gated", "INFERENCE_CALL is not supported: its effect is undocumented"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// A key that a command or a selector does not take is an error of its line, and so is a key that no
// step knows.
func TestKeysThatDoNotBelong(t *testing.T) {
	start := opened + "client d kind=direct rights=user-access\ncall d ANE_DeviceOpen\n"
	n := strings.Count(start, "\n") + 1
	for step, want := range map[string]string{
		"send control PING bars=3 model=x":                            `PING does not take the key "bars"; it takes priority, program, process, procedure, bytes`,
		"send control PING checksum=5":                                `PING does not take the key "checksum"`,
		"send control DEBUG_COMMAND_DATA_CHECK checksum=5 model=x":    `does not take the key "model"`,
		"send control LOAD_PROGRAM program=0 model=add signal=1:1":    `LOAD_PROGRAM does not take the key "signal"; it takes priority, program, process, procedure, bytes, model, procedures, bars`,
		"send execution PROCEDURE_CALL program=0 process=0 model=add": `does not take the key "model"`,
		"send execution PROCEDURE_CALL bytes=3 sets=2":                `does not take the key "sets"`,
		"send control UNLOAD_PROGRAM program=0 buffers=0:1":           `does not take the key "buffers"`,
		"send control PING modle=x":                                   `unknown key "modle"`,
		"call a ANE_GetVersion program=1":                             `ANE_GetVersion does not take the key "program"; it takes size`,
		"call a ANE_ProgramPrepare program=1 model=add":               `ANE_ProgramPrepare does not take the key "model"; it takes size, program, procedure`,
		"call a ANE_ProgramCreate model=add surfaces=1":               `does not take the key "surfaces"`,
		"call d ANE_MemoryMapRequest bytes=4096 address=1":            `does not take the key "address"`,
		"call a 40 program=1":                                         `this selector does not take the key "program"; it takes size`,
	} {
		if err := failure(t, start+step+"\n", n); !strings.Contains(err, want) {
			t.Errorf("%s: %s; want %q", step, err, want)
		}
	}
}

// The page about scripts has every step.
func TestStepsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/firmware.md")
	if err != nil {
		t.Fatal(err)
	}
	_, steps, ok := strings.Cut(string(page), "\n## Steps\n")
	steps, _, _ = strings.Cut(steps, "\n## ")
	if !ok {
		t.Fatal("docs/firmware.md has no section Steps")
	}
	for _, name := range sortedKeys(scriptSteps) {
		if !strings.Contains(steps, "`"+name+" ") && !strings.Contains(steps, "`"+name+"`") {
			t.Errorf("step %s is not in docs/firmware.md", name)
		}
	}
}

package machine

import (
	"strings"
	"testing"
)

// TestWhoMayRunWhat plays eight scripts. Each has beside it what the documents say (chapters 5 and 27),
// in other words.
func TestWhoMayRunWhat(t *testing.T) {
	const add = "model add layer add c=4\nsend control BOOT\n"
	for _, tc := range []struct {
		documents string
		script    string
		contains  []string // the transcript has these lines, in this order
	}{
		{
			"Only the broker and its per-user sibling hold the entitlement that opens the device. Applications reach the engine through the broker.",
			`client stranger
expect NotPrivileged
client app rights=broker
expect Success
lease app model=add
expect Success
ask app program=1
expect Success
expect finished 1
client daemon rights=user-access
call daemon ANE_DeviceOpen
expect Success
`, []string{"Success (0x0): connected to the broker"},
		},
		{
			"The broker creates and prepares the program on its own connection, and hands the client a program handle and an intermediate-buffer handle. It destroys the program too.",
			`client app rights=broker
lease app model=add
expect Success
set 0 x 1.5
set 0 z 2
ask app program=1 sequence=3
expect Success
expect values 0 y 3.5
ask app program=2
expect NotFound
close app
`, []string{"-> Success (0x0): program 1, intermediate buffer 1", "-> closed; user clients: 0", "memory: 0 bytes used; user clients: 0; models at the broker: 0"},
		},
		{
			"An inference client may have another entitlement of the broker's family instead of the baseline one. Without either, the broker refuses the connection.",
			`client app rights=broker-access qos=initiated
expect Success
lease app model=add
ask app program=1
expect Success
client none rights=model-share qos=initiated
expect NotPrivileged
expect denied
`, []string{"start, queue 4, program 0", "client lacks the entitlement com.apple.aned.private.allow"},
		},
		{
			"Holders of the sandbox exception open the direct-path client and submit each request on their own connection; the privileged device open stays in the broker.",
			`client app kind=direct rights=broker,sandbox-exception
expect Success
call app ANE_DeviceOpen
expect NotPrivileged
call app ANE_ProgramSendRequest program=1
expect NotReady
lease app model=add
expect Success
call app ANE_ProgramSendRequest program=1
expect Success
ask app program=1
expect Success
expect finished 2
close app
`, []string{"memory: 0 bytes used; user clients: 0"},
		},
		{
			"A resident model can be shared by processes that have the entitlement for it; they reuse the shared intermediate buffer.",
			`client a rights=broker,model-share team=T hash=h
client b rights=broker,model-share team=T hash=h
client c rights=broker team=T hash=h
lease a model=add
expect Success
lease b model=add
expect Success
lease c model=add
expect NotPrivileged
close a
ask b program=1
expect Success
`, []string{"program 1, intermediate buffer 1", "program 1, intermediate buffer 1", "attach: client lacks the entitlement com.apple.aned.private.processModelShare.allow", "models at the broker: 1"},
		},
		{
			"A second client attaches to a resident program only if its team and its code-directory hash match the owner's.",
			`client a rights=broker,model-share team=T hash=h
lease a model=add
client b rights=broker,model-share team=T hash=other
lease b model=add
expect NotPrivileged
client c rights=broker,model-share team=U hash=h
lease c model=add
expect NotPrivileged
client d rights=broker,model-share
lease d model=add
expect NotPrivileged
client owner rights=user-access team=T1 hash=H1
client other kind=direct rights=user-access team=T2 hash=H2
call owner ANE_DeviceOpen
call other ANE_DeviceOpen
call owner ANE_ProgramCreate model=add
call owner ANE_ProgramPrepare program=2
lend owner other program=2
expect NotPrivileged
call other ANE_ProgramSendRequest program=2
expect NotFound
expect finished 0
`, []string{"model add is resident for another team or code-directory hash"},
		},
		{
			"The identity is that of the code signature. Code without one has an empty identity (our reading), which matches only itself.",
			`client owner rights=user-access
client same kind=direct rights=user-access
client signed kind=direct rights=user-access team=T
call owner ANE_DeviceOpen
call same ANE_DeviceOpen
call signed ANE_DeviceOpen
call owner ANE_ProgramCreate model=add
call owner ANE_ProgramPrepare program=1
lend owner same program=1
expect Success
lend owner signed program=1
expect NotPrivileged
call same ANE_ProgramSendRequest program=1
expect Success
`, nil,
		},
		{
			"A request has the pair 5 and 21 of execution priority and class of service; the driver checks six further entitlements.",
			`client app rights=user-access,realtime,memory,data,reserved-priorities,share-hints,set-hints
expect Success
call app ANE_DeviceOpen
call app ANE_ProgramCreate model=add
call app ANE_ProgramPrepare program=1
call app ANE_ProgramSendRequest program=1
call app ANE_ProgramSendRequest program=1 qos=21
call app ANE_ProgramSendRequest program=1 qos=33
call app ANE_ProgramSendRequest program=1 qos=background
call app ANE_ProgramSendRequest program=1 qos=33 priority=0
expect finished 5
raw app ANE_MPMMemoryMapRequest 0 4096
expect Success
raw app ANE_ShowModelMemoryStatus
expect Success
`, []string{"request 1 start, queue 2", "request 2 start, queue 2", "request 3 start, queue 5", "request 4 start, queue 0", "request 5 start, queue 7"},
		},
	} {
		out := script(t, add+tc.script)
		rest := out
		for _, want := range tc.contains {
			_, after, ok := strings.Cut(rest, want)
			if !ok {
				t.Errorf("%s\nno %q in\n%s", tc.documents, want, out)
			}
			rest = after
		}
	}
	start := add + "client app rights=broker\n"
	n := strings.Count(start, "\n") + 1
	for step, want := range map[string]string{
		"call app ANE_DeviceOpen":            `client "app" has no user client of the driver`,
		"raw app ANE_IsPowered":              `client "app" has no user client of the driver`,
		"lease app model=ad":                 `unknown model "ad"; did you mean add?`,
		"client x rights=user-access,reserv": `unknown entitlement "reserv"`,
	} {
		if err := failure(t, start+step+"\n", n); !strings.Contains(err, want) {
			t.Errorf("%s: %s; want %q", step, err, want)
		}
	}
}

package command

import "github.com/spf13/cobra"

func dumpCommand() *cobra.Command { return &cobra.Command{Use: "dump FILE"} }

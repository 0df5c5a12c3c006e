package main

import (
	_ "k8s.io/client-go/plugin/pkg/client/auth" // registers the auth provider plugins, e.g. oidc, of the released kubectl
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}

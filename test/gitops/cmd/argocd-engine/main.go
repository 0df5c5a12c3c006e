// The program argocd-engine syncs a folder with the sync engine of Argo CD, and does what the application controller
// of Argo CD does around it: tracking, health scripts, and one step of the operation after the other. A test gives the
// commands over HTTP: POST /start begins a sync operation, POST /step continues it, GET /state compares.
package main

import (
	"encoding/json"
	"flag"
	"net/http"
	"os"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/kube"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/tracing"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2/textlogger"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the kubeconfig")
	folder := flag.String("folder", "", "the folder with the manifests")
	name := flag.String("application", "", "the name of the application")
	method := flag.String("tracking", "annotation", "annotation or label")
	listen := flag.String("listen", "", "the address of the HTTP server")
	kind := flag.String("health-kind", "", "the kind of the health script")
	script := flag.String("health-script", "", "the file of the health script")
	flag.Parse()

	log := textlogger.NewLogger(textlogger.NewConfig())
	exitOn := func(err error) {
		if err != nil {
			log.Error(err, "Fatal error")
			os.Exit(1)
		}
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	exitOn(err)
	health, err := loadHealthScript(*kind, *script)
	exitOn(err)
	app := &application{
		folder:    *folder,
		namespace: "default",
		tracking:  tracking{*method, *name},
		config:    config,
		kubectl:   &kube.KubectlCmd{Log: log, Tracer: tracing.NopTracer{}},
		script:    health,
		log:       log,
	}
	app.cache = app.newCache()
	exitOn(app.waitForCache())

	http.HandleFunc("POST /start", answer(app.start))
	http.HandleFunc("POST /step", answer(app.step))
	http.HandleFunc("GET /state", answer(app.state))
	exitOn(http.ListenAndServe(*listen, nil))
}

func answer[T any](run func() (T, error)) http.HandlerFunc {
	return func(response http.ResponseWriter, _ *http.Request) {
		result, err := run()
		if err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(response).Encode(result)
	}
}

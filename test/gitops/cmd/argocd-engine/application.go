package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/cache"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/diff"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/health"
	engine "github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/sync/common"
	"github.com/argoproj/argo-cd/gitops-engine/v3/pkg/utils/kube"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// application syncs a folder as an Application of Argo CD. Each step of an operation reads the folder and the cache
// again, and continues with the results of the step before, as the application controller of Argo CD does.
type application struct {
	folder, namespace string
	tracking          tracking
	config            *rest.Config
	kubectl           kube.Kubectl
	cache             cache.ClusterCache
	script            health.HealthOverride
	log               logr.Logger

	mutex     sync.Mutex
	phase     common.OperationPhase
	message   string
	results   []common.ResourceSyncResult
	startedAt metav1.Time
}

// objectState says how a live object differs from the folder, and its health.
type objectState struct {
	Object    string `json:"object"`
	OutOfSync bool   `json:"outOfSync"`
	Health    string `json:"health,omitempty"`
	Message   string `json:"message,omitempty"`
}

// operation is the state of a sync operation.
type operation struct {
	Phase   common.OperationPhase `json:"phase"`
	Message string                `json:"message"`
	Results map[string]string     `json:"results"`
}

type info struct{ isManaged bool }

func (a *application) newCache() cache.ClusterCache {
	return cache.NewClusterCache(a.config,
		cache.SetKubectl(a.kubectl),
		cache.SetLogr(a.log),
		cache.SetPopulateResourceInfoHandler(func(object *unstructured.Unstructured, isRoot bool) (any, bool) {
			isManaged := isRoot && a.tracking.isMarked(object)
			return &info{isManaged}, isManaged
		}),
	)
}

// start begins a new operation.
func (a *application) start() (operation, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.phase, a.message, a.results, a.startedAt = common.OperationRunning, "", nil, metav1.Now()
	return a.stepLocked()
}

// step continues the operation.
func (a *application) step() (operation, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.stepLocked()
}

func (a *application) stepLocked() (operation, error) {
	compared, _, err := a.compare()
	if err != nil {
		return operation{}, err
	}
	propagation := metav1.DeletePropagationForeground
	sync, cleanup, err := engine.NewSyncContext("", compared, a.config, a.config, a.kubectl, a.namespace,
		engine.WithLogr(a.log),
		engine.WithHealthOverride(a.script),
		engine.WithInitialState(a.phase, a.message, a.results, a.startedAt),
		engine.WithPrune(true),
		engine.WithPrunePropagationPolicy(&propagation),
		engine.WithSyncWaveHook(func(common.SyncPhase, int, bool) error { return nil }),
	)
	if err != nil {
		return operation{}, err
	}
	defer cleanup()
	sync.Sync(context.Background())
	a.phase, a.message, a.results = sync.GetState()
	results := map[string]string{}
	for _, result := range a.results {
		key := result.ResourceKey
		results[key.Kind+"/"+key.Name] = fmt.Sprintf("%s %s: %s", result.Status, result.HookPhase, result.Message)
	}
	return operation{a.phase, a.message, results}, nil
}

// state compares the folder with the live objects, and changes neither.
func (a *application) state() ([]objectState, error) {
	compared, diffs, err := a.compare()
	if err != nil {
		return nil, err
	}
	states := []objectState{}
	for i, live := range compared.Live {
		object := live
		if object == nil {
			object = compared.Target[i]
		}
		one := objectState{Object: object.GetKind() + "/" + object.GetName()}
		one.OutOfSync = live == nil || compared.Target[i] == nil || diffs.Diffs[i].Modified
		if live != nil {
			found, err := health.GetResourceHealth(live, a.script)
			if err != nil {
				return nil, err
			}
			if found != nil {
				one.Health, one.Message = string(found.Status), found.Message
			}
		}
		states = append(states, one)
	}
	return states, nil
}

func (a *application) compare() (engine.ReconciliationResult, *diff.DiffResultList, error) {
	var none engine.ReconciliationResult
	targets, err := a.read()
	if err != nil {
		return none, nil, err
	}
	isManaged := func(resource *cache.Resource) bool { return resource.Info.(*info).isManaged }
	live, err := a.cache.GetManagedLiveObjs(targets, isManaged)
	if err != nil {
		return none, nil, err
	}
	compared := engine.Reconcile(targets, live, a.namespace, a.cache)
	diffs, err := diff.DiffArray(context.Background(), compared.Target, compared.Live, diff.WithLogr(a.log))
	return compared, diffs, err
}

func (a *application) read() ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(a.folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		found, err := kube.SplitYAML(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		objects = append(objects, found...)
	}
	for _, object := range objects {
		if object.GetNamespace() == "" {
			object.SetNamespace(a.namespace)
		}
		a.tracking.mark(object)
	}
	return objects, nil
}

// waitForCache waits until the cache has the objects of the API server.
func (a *application) waitForCache() error {
	started := time.Now()
	err := a.cache.EnsureSynced()
	a.log.Info("the cache is filled", "took", time.Since(started).String())
	return err
}
